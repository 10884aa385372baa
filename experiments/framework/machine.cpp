#include "experiments/framework/machine.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "softfloat/errors.hpp"

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

extern char** environ;

namespace ulp {
namespace {

[[noreturn]] void cannot_start(const std::string& program, int error) {
    throw DataError(
        fmt::format("cannot start {}: {}", program, std::error_code(error, std::generic_category()).message()));
}

std::string read_to_end(int file) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = read(file, buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
}

}  // namespace

Finished run_program(const std::vector<std::string>& command, const std::filesystem::path& folder) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) cannot_start(command.front(), errno);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    pid_t process = 0;
    const int error = posix_spawnp(&process, command.front().c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        cannot_start(command.front(), error);
    }
    std::string output = read_to_end(ends[0]);
    close(ends[0]);
    int status = 0;
    waitpid(process, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), std::move(output)};
}

}  // namespace ulp
