#include "experiments/framework/files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <system_error>

#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

namespace fs = std::filesystem;
namespace {

std::string last_error() { return std::error_code(errno, std::generic_category()).message(); }

/// Swaps two folders at once where the file system can; elsewhere moves the old one away first.
bool exchange_folders(const fs::path& a, const fs::path& b) {
    if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
    const fs::path aside = a.string() + ".aside";
    if (std::rename(b.c_str(), aside.c_str()) != 0) return false;
    if (std::rename(a.c_str(), b.c_str()) == 0) return std::rename(aside.c_str(), a.c_str()) == 0;
    const int error = errno;
    std::rename(aside.c_str(), b.c_str());  // back as it was
    errno = error;
    return false;
}

}  // namespace

std::string read_file(const fs::path& path) { return read_whole_file(path); }

void write_output(const fs::path& path, std::string_view content) {
    std::error_code unknown;
    if (fs::is_other(path, unknown)) return write_file(path, content);
    replace_whole_file(behind_links(path), content);
}

void write_file(const fs::path& path, std::string_view content) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) throw DataError(fmt::format("cannot write {}: {}", path.string(), last_error()));
}

void require_writable(const std::filesystem::path& path) {
    std::error_code unknown;
    if (path.empty() || std::filesystem::is_other(path, unknown)) return;
    const WholeFile writable(behind_links(path));
}

std::string plain_name(std::string name) {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    if (!name.empty() && std::all_of(name.begin(), name.end(), plain)) return name;
    throw DataError(fmt::format("\"{}\" is no name of an experiment, a figure or a variable: [a-z0-9_]+", name));
}

void make_writable_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    std::string reason = error ? error.message() : "it is not a folder";
    if (!error && fs::is_directory(folder)) {
        // Writing tells what access() cannot, for root and on read-only or full file systems.
        std::string probe = (folder / ".ulplab-XXXXXX").string();
        const int file = mkstemp(probe.data());
        if (file >= 0) {
            close(file);
            unlink(probe.c_str());
            return;
        }
        reason = last_error();
    }
    throw DataError(
        fmt::format("cannot write into the folder {} ({}); choose another with --out", folder.string(), reason));
}

namespace {

LockedFile staging_in(const fs::path& parent, const std::string& name) {
    const std::string prefix = fmt::format(".{}.partial-", name);
    remove_leftovers(parent, prefix, "");
    return new_locked_folder(parent, prefix);
}

}  // namespace

StagedFolder::StagedFolder(const fs::path& parent, const std::string& name)
    : place_(parent / name), staging_(staging_in(parent, name)) {}

StagedFolder::~StagedFolder() {
    std::error_code ignored;
    fs::remove_all(staging_.path, ignored);  // before the lock is free
    close(staging_.descriptor);
}

void StagedFolder::publish() {
    const fs::path& from = staging_.path;
    const bool placed =
        fs::exists(place_) ? exchange_folders(from, place_) : std::rename(from.c_str(), place_.c_str()) == 0;
    if (!placed) throw DataError(fmt::format("cannot replace {}: {}", place_.string(), last_error()));
}

namespace fs = std::filesystem;

namespace {

/// The link is read, not resolved: a program that was built anew while it ran has no file any more, but still a folder.
fs::path program() { return fs::read_symlink("/proc/self/exe"); }

std::optional<fs::path> find(const std::string& name) {
    for (fs::path above = program().parent_path(); above != above.parent_path(); above = above.parent_path()) {
        for (const fs::path& place : {above / name, above / "share/ulplab" / name}) {
            if (fs::exists(place)) return place;
        }
    }
    const fs::path source = fs::path(ULPLAB_SOURCES) / name;
    if (fs::exists(source)) return source;
    return {};
}

}  // namespace

bool has_shared_file(const std::string& name) { return find(name).has_value(); }

fs::path shared_file(const std::string& name) {
    if (const auto place = find(name)) return *place;
    throw DataError(fmt::format(
        "there is no {0} or share/ulplab/{0} in a folder above {1}; a wheel holds no lessons and no registers: use "
        "the ulplab that was built from the project's sources",
        name, program().string()));
}

}  // namespace ulp
