#include "engine/files/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/files/file_lock.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& path, int error) {
    throw DataError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error)));
}

}  // namespace

std::string read_whole_file(const fs::path& path) {
    if (fs::is_character_file(path) || fs::is_block_file(path)) {  // some never end
        throw DataError(path.string() + ": is a device; give a file");
    }
    if (fs::is_directory(path)) throw DataError(path.string() + ": is a folder; give a file");
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw DataError(path.string() + ": cannot be opened");
    return {std::istreambuf_iterator<char>(stream), {}};
}

WholeFile::WholeFile(fs::path path) : path_(std::move(path)) {
    std::error_code unknown;
    const fs::file_status status = fs::symlink_status(path_, unknown);
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_symlink(status)) {
        throw DataError(
            fmt::format("{}: cannot be written: it is no regular file, and would be replaced by one", path_.string()));
    }
    remove_leftovers(path_.parent_path(), path_.filename().string() + ".", ".tmp");
    LockedFile file = new_locked_file(path_);
    temporary_ = std::move(file.path);
    descriptor_ = file.descriptor;
}

WholeFile::~WholeFile() {
    if (descriptor_ < 0) return;
    ::unlink(temporary_.c_str());  // before the lock is free
    ::close(descriptor_);
}

void WholeFile::write(std::string_view bytes) {
    constexpr std::size_t enough = std::size_t{1} << 20;
    buffer_ += bytes;
    if (buffer_.size() >= enough) flush();
}

void WholeFile::flush() {
    for (std::string_view left = buffer_; !left.empty();) {
        const ssize_t count = ::write(descriptor_, left.data(), left.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) refuse(path_, count == 0 ? ENOSPC : errno);
        left.remove_prefix(static_cast<std::size_t>(count));
    }
    buffer_.clear();
}

void WholeFile::publish() {
    flush();
    if (::fsync(descriptor_) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(path_, errno);
    ::close(descriptor_);
    descriptor_ = -1;
}

void replace_whole_file(const fs::path& path, std::string_view bytes) {
    WholeFile file(path);
    file.write(bytes);
    file.publish();
}

}  // namespace ulp
