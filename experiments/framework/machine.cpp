#include "experiments/framework/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "experiments/framework/subprocess.hpp"

namespace ulp {

namespace {

/// The value of the first line "key : value" of /proc/cpuinfo.
std::string cpuinfo(std::string_view key) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(':');
        if (line.starts_with(key) && colon != std::string::npos && colon + 2 <= line.size()) {
            return line.substr(colon + 2);
        }
    }
    return "";
}

}  // namespace

std::string program_version() { return ULPLAB_VERSION; }

std::string compiler_name() {
#ifdef __clang__
    return fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
    return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string compiler_flags() { return ULPLAB_FLAGS; }

std::string cpu_name() {
    const std::string name = cpuinfo("model name");
    return name.empty() ? "unknown" : name;
}

std::vector<std::string> cpu_features() {
    const std::string flags = " " + cpuinfo("flags") + cpuinfo("Features") + " ";  // of x86 and of ARM
    std::vector<std::string> present;
    for (const char* feature : {"sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16",
                                "avx512_fp16", "amx_bf16", "asimd"}) {
        if (flags.find(fmt::format(" {} ", feature)) != std::string::npos) present.emplace_back(feature);
    }
    return present;
}

int hardware_threads() { return static_cast<int>(std::thread::hardware_concurrency()); }

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::optional<std::string> find_program(std::string_view name) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const auto candidate = std::filesystem::path(folder) / name;
        if (access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate)) {
            return candidate.string();
        }
    }
    return std::nullopt;
}

std::optional<std::string> output_of(const std::vector<std::string>& command) {
    if (!find_program(command.front())) return std::nullopt;
    const Finished finished = run_program(command);
    if (finished.exit_code != 0) return std::nullopt;
    return finished.output;
}

}  // namespace ulp
