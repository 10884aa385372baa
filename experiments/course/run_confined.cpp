#include "experiments/course/run_confined.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <system_error>

#include "softfloat/errors.hpp"

namespace ulp::course {
namespace {

constexpr int answer_descriptor = 3;
constexpr std::size_t kept_of_printed = 64 << 10;

// --- The child, between fork and exec: only calls that are safe there.

struct Pipes {
    std::array<int, 2> input, answers, printed, failure;  // of each pair [0] is the grader's
};

struct Child {
    std::vector<char*> arguments, environment;
    const char* folder;
    const Limits* limits;
    CallFilter filter;
    int rules;
};

/// Behind the rules about files first: the filter would not let it go there any more.
bool confine(const Child& child) {
    if (child.rules < 0) return bind_to(child.filter);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_landlock_restrict_self, child.rules, 0U) == 0 &&
           bind_to(child.filter);
}

void limit(int resource, rlim_t soft, rlim_t hard) {
    const rlimit both{soft, hard};
    setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

/// Tells the grader why there is no program.
[[noreturn]] void give_up(int failure, int error) {
    [[maybe_unused]] const auto written = write(failure, &error, sizeof error);
    _exit(127);
}

[[noreturn]] void become(Child& child, const Pipes& pipes) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sigaction ordinary {};
    ordinary.sa_handler = SIG_DFL;
    for (int signal = 1; signal < 32; ++signal) sigaction(signal, &ordinary, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // First out of the way of the numbers that the program gets.
    const int input = fcntl(pipes.input[1], F_DUPFD_CLOEXEC, 10);
    const int answers = fcntl(pipes.answers[1], F_DUPFD_CLOEXEC, 10);
    const int printed = fcntl(pipes.printed[1], F_DUPFD_CLOEXEC, 10);
    const bool had_rules = child.rules >= 0;
    if (had_rules) child.rules = fcntl(child.rules, F_DUPFD_CLOEXEC, 10);
    const int failure = fcntl(pipes.failure[1], F_DUPFD_CLOEXEC, std::max(10, child.rules + 1));
    if (input < 0 || answers < 0 || printed < 0 || (had_rules && child.rules < 0) || failure < 0) {
        give_up(pipes.failure[1], errno);  // too few descriptors
    }
    dup2(input, STDIN_FILENO);
    dup2(printed, STDOUT_FILENO);
    dup2(printed, STDERR_FILENO);
    dup2(answers, answer_descriptor);
    // What else the grader's process has open is not for the program.
    const auto close_from_to = [](int first, int last) {
        if (first <= last) syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), 0U);
    };
    const int kept = child.rules >= 0 ? child.rules : failure;  // the lower one
    close_from_to(answer_descriptor + 1, kept - 1);
    close_from_to(kept + 1, failure - 1);
    close_from_to(failure + 1, std::numeric_limits<int>::max());
    // The filter before the limit of memory, which may lie below what the grader holds.
    const bool good = chdir(child.folder) == 0 && confine(child);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, static_cast<rlim_t>(child.limits->cpu_seconds),
          static_cast<rlim_t>(child.limits->cpu_seconds) + 1);
    limit(RLIMIT_FSIZE, child.limits->file_bytes, child.limits->file_bytes);
    limit(RLIMIT_AS, child.limits->memory_bytes, child.limits->memory_bytes);
    if (good) execve(child.arguments[0], child.arguments.data(), child.environment.data());
    give_up(failure, errno);
}

// --- The grader's side.

std::string error_text(int error) { return std::error_code(error, std::generic_category()).message(); }

void close_both(std::array<int, 2>& pair) {
    for (int& end : pair) {
        if (end >= 0) close(end);
        end = -1;
    }
}

Pipes open_pipes() {
    Pipes pipes{{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    // The input is a socket: writing to it after the program has closed it gives an error, not SIGPIPE.
    const bool good = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes.input.data()) == 0 &&
                      pipe2(pipes.answers.data(), O_CLOEXEC) == 0 && pipe2(pipes.printed.data(), O_CLOEXEC) == 0 &&
                      pipe2(pipes.failure.data(), O_CLOEXEC) == 0;
    if (!good) {
        const int error = errno;
        for (auto* pair : {&pipes.input, &pipes.answers, &pipes.printed, &pipes.failure}) close_both(*pair);
        throw DataError("cannot make pipes: " + error_text(error));
    }
    for (auto* pair : {&pipes.input, &pipes.answers, &pipes.printed}) fcntl((*pair)[0], F_SETFL, O_NONBLOCK);
    return pipes;
}

/// Appends what there is to read. False at the end of the file.
bool read_some(int descriptor, std::string& text, std::size_t keep, std::uint64_t& total) {
    std::array<char, 65536> buffer;
    const ssize_t size = read(descriptor, buffer.data(), buffer.size());
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    total += static_cast<std::uint64_t>(size);
    if (text.size() < keep) {
        text.append(buffer.data(), std::min(static_cast<std::size_t>(size), keep - text.size()));
    }
    return size > 0;
}

/// Feeds the program and reads from it until it closes its ends. Gives the reason to end it early, if there is one.
Ending converse(const Pipes& pipes, const std::string& input, const Limits& limits, ConfinedRun& run) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limits.wall_seconds);
    std::size_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t printed = 0;
    std::array<pollfd, 3> files{
        {{pipes.input[0], POLLOUT, 0}, {pipes.answers[0], POLLIN, 0}, {pipes.printed[0], POLLIN, 0}}};
    while (files[1].fd >= 0 || files[2].fd >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() <= 0) return Ending::took_too_long;
        if (poll(files.data(), files.size(), static_cast<int>(left.count()) + 1) < 0 && errno != EINTR) break;
        if (files[0].fd >= 0 && files[0].revents != 0) {
            const ssize_t size = send(files[0].fd, input.data() + sent, input.size() - sent, MSG_NOSIGNAL);
            if (size > 0) sent += static_cast<std::size_t>(size);
            const bool broken = size < 0 && errno != EAGAIN && errno != EINTR;
            if (broken || sent == input.size()) {
                shutdown(files[0].fd, SHUT_WR);
                files[0].fd = -1;
            }
        }
        if (files[1].fd >= 0 && files[1].revents != 0) {
            if (!read_some(files[1].fd, run.answers, limits.answer_bytes, answered)) files[1].fd = -1;
        }
        if (files[2].fd >= 0 && files[2].revents != 0) {
            if (!read_some(files[2].fd, run.printed, kept_of_printed, printed)) files[2].fd = -1;
        }
        if (printed > limits.printed_bytes || answered > limits.answer_bytes) return Ending::printed_too_much;
    }
    return Ending::exited;
}

/// Waits for the process to end, and leaves it to be reaped.
bool ends_within(pid_t process, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
        siginfo_t info{};
        if (waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return true;
        if (info.si_pid == process) return true;
        usleep(500);
    }
    return false;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> list;
    for (std::string& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    return list;
}

}  // namespace

std::string found_along_path(const std::string& program) {
    if (program.find('/') != std::string::npos) return program;
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string file = folder + "/" + program;
        if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
    }
    return program;
}

ConfinedRun run_confined(const std::vector<std::string>& command, const std::filesystem::path& folder,
                         const std::string& input, const Limits& limits, Confinement confinement) {
    std::vector<std::string> arguments = command;
    arguments.front() = found_along_path(command.front());
    const char* path = std::getenv("PATH");
    std::vector<std::string> environment = {std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"),
                                            "HOME=" + folder.string(), "TMPDIR=" + folder.string(), "LC_ALL=C"};
    const std::string folder_text = folder.string();
    Child child{pointers(arguments),     pointers(environment),
                folder_text.c_str(),     &limits,
                filter_for(confinement), rules_for(confinement, arguments.front(), folder_text)};
    Pipes pipes = open_pipes();
    const pid_t process = fork();
    if (process == 0) become(child, pipes);
    const int fork_error = errno;
    if (child.rules >= 0) close(child.rules);
    for (auto* pair : {&pipes.input, &pipes.answers, &pipes.printed, &pipes.failure}) {
        close((*pair)[1]);
        (*pair)[1] = -1;
    }
    ConfinedRun run;
    int start_error = process < 0 ? fork_error : 0;
    if (process > 0) {
        const ssize_t told = read(pipes.failure[0], &start_error, sizeof start_error);
        if (told <= 0) start_error = 0;
        run.ending = converse(pipes, input, limits, run);
        // It has closed its ends but may go on. Its group, if there is more of it, ends before it is reaped.
        if (run.ending == Ending::exited && !ends_within(process, limits.wall_seconds)) {
            run.ending = Ending::took_too_long;
        }
        kill(-process, SIGKILL);
        int status = 0;
        rusage usage{};
        wait4(process, &status, 0, &usage);
        run.most_memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
        if (run.ending == Ending::exited) {
            if (WIFSIGNALED(status)) run.ending = Ending::signalled;
            run.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
        }
    }
    for (auto* pair : {&pipes.input, &pipes.answers, &pipes.printed, &pipes.failure}) close_both(*pair);
    if (start_error != 0) {
        throw DataError(
            fmt::format("cannot start {}: {}; install it, or name another compiler by CXX or Python by PYTHON",
                        command.front(), error_text(start_error)));
    }
    return run;
}

}  // namespace ulp::course
