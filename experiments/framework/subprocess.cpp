#include "experiments/framework/subprocess.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <system_error>

#include "softfloat/errors.hpp"

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
