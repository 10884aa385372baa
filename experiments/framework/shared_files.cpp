#include "experiments/framework/shared_files.hpp"

#include <fmt/core.h>

#include <optional>

#include "softfloat/errors.hpp"

namespace ulp {

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
    throw DataError(
        fmt::format("there is no {} or share/ulplab/{} in a folder above {}", name, name, program().string()));
}

}  // namespace ulp
