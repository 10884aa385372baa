#include "tests/shared_data.hpp"

#include <cstdlib>
#include <iostream>

namespace ulp::test {

std::optional<std::filesystem::path> shared_folder(const std::string& name) {
    const char* root = std::getenv("ULPLAB_SHARED");
    if (root == nullptr || *root == '\0') {
        std::cout << "skipped: no " << name << " (ULPLAB_SHARED is not set)\n";
        return std::nullopt;
    }
    auto folder = std::filesystem::path(root) / name;
    if (!std::filesystem::is_directory(folder)) {
        std::cout << "skipped: no " << name << " (no folder " << folder.string() << ")\n";
        return std::nullopt;
    }
    return folder;
}

}  // namespace ulp::test
