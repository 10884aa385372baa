#include "experiments/course/confinement.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <sstream>
#include <system_error>

#include "softfloat/errors.hpp"

namespace ulp::course {
namespace {

constexpr int answer_descriptor = 3;
constexpr std::size_t kept_of_printed = 64 << 10;

// --- The filters: lists of what a computing program needs; everything else is trapped.

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t architecture = 0;
#endif

constexpr long computing[] = {
    SYS_read, SYS_write, SYS_writev, SYS_close, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_ioctl,
    // memory
    SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise,
    // signals of its own, and the end
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_exit, SYS_exit_group,
    // what the C library asks when a program starts
    SYS_set_tid_address, SYS_set_robust_list, SYS_rseq, SYS_prlimit64, SYS_readlinkat, SYS_getrandom, SYS_futex,
    SYS_getpid, SYS_gettid, SYS_uname,
#if defined(__x86_64__)
    SYS_arch_prctl, SYS_readlink,
#endif
    // time
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_sched_yield,
    // the start itself; a program started from here would be behind the same filter
    SYS_execve};

constexpr long mapping[] = {SYS_mmap, SYS_mprotect};
/// What an interpreter needs besides, to read its modules. Landlock says which files.
constexpr long reading[] = {
    SYS_openat,    SYS_getdents64, SYS_fcntl,   SYS_dup,
    SYS_pread64,   SYS_getcwd,     SYS_statx,   SYS_statfs,
    SYS_faccessat, SYS_faccessat2, SYS_getuid,  SYS_geteuid,
    SYS_getgid,    SYS_getegid,    SYS_sysinfo, SYS_sched_getaffinity,
    SYS_getrusage,
#if defined(__x86_64__)
    SYS_open,      SYS_stat,       SYS_lstat,   SYS_access,
#endif
};
/// What a compiler never needs; files are Landlock's.
constexpr long never[] = {
    SYS_socket,      SYS_socketpair,      SYS_connect,        SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_mount,       SYS_umount2,         SYS_pivot_root,     SYS_chroot, SYS_unshare,          SYS_setns,
    SYS_bpf,         SYS_perf_event_open, SYS_io_uring_setup, SYS_keyctl, SYS_add_key,          SYS_request_key,
    SYS_init_module, SYS_finit_module,    SYS_kexec_load,     SYS_reboot, SYS_setsid,           SYS_setpgid};

sock_filter statement(unsigned code, std::uint32_t value) { return {static_cast<std::uint16_t>(code), 0, 0, value}; }
sock_filter jump_if_equal(std::uint32_t value, int if_true, int if_false) {
    return {static_cast<std::uint16_t>(BPF_JMP | BPF_JEQ | BPF_K), static_cast<std::uint8_t>(if_true),
            static_cast<std::uint8_t>(if_false), value};
}

void add_rules(std::vector<sock_filter>& program, std::span<const long> numbers, std::uint32_t verdict) {
    for (const long number : numbers) {
        program.push_back(jump_if_equal(static_cast<std::uint32_t>(number), 0, 1));
        program.push_back(statement(BPF_RET | BPF_K, verdict));
    }
}

/// A filter whose entry `process_at` is to hold the process's number: signals go to itself only, abort() needs that.
struct Filter {
    std::vector<sock_filter> program;
    std::size_t process_at = 0;
};

Filter filter_for(Confinement confinement) {
    if (confinement == Confinement::limits) return {};
    std::vector<sock_filter> program{
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
        jump_if_equal(architecture, 1, 0),
        statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    if (confinement == Confinement::compiler) {
        add_rules(program, never, SECCOMP_RET_ERRNO | EPERM);
        program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
        return {std::move(program), 0};
    }
    add_rules(program, computing, SECCOMP_RET_ALLOW);
    if (confinement == Confinement::interpreter) {
        add_rules(program, reading, SECCOMP_RET_ALLOW);
        add_rules(program, mapping, SECCOMP_RET_ALLOW);  // of its modules' code
    } else {
        // Memory, but none that can be executed: a program may not write another one.
        program.push_back(jump_if_equal(SYS_mmap, 1, 0));
        program.push_back(jump_if_equal(SYS_mprotect, 0, 4));
        program.push_back(
            statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t)));
        program.push_back(statement(BPF_ALU | BPF_AND | BPF_K, PROT_EXEC));
        program.push_back(jump_if_equal(0, 0, 1));
        program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
        program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    }
    program.push_back(jump_if_equal(SYS_tgkill, 0, 3));
    program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)));
    program.push_back(jump_if_equal(0, 0, 1));
    program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    const std::size_t process_at = program.size() - 3;
    return {std::move(program), process_at};
}

// --- Landlock: which files may be opened. Linux's userspace API guide, "Landlock: unprivileged access control". The
// numbers are written out: Debian 12's header has those of the first two versions only.

constexpr std::uint64_t may_execute = 1 << 0;
constexpr std::uint64_t may_write_file = 1 << 1;
constexpr std::uint64_t may_read_file = 1 << 2;
constexpr std::uint64_t may_read_folder = 1 << 3;
constexpr std::uint64_t may_truncate = 1 << 14;
constexpr std::uint64_t of_files = may_execute | may_write_file | may_read_file | may_truncate;

long landlock_version() {
    return syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, LANDLOCK_CREATE_RULESET_VERSION);
}
/// All rights that this version knows, up to `truncate`.
std::uint64_t known_rights(long version) {
    return version >= 3 ? (1U << 15) - 1 : version == 2 ? (1U << 14) - 1 : (1U << 13) - 1;
}

void allow_path(int rules, const std::string& path, std::uint64_t rights) {
    const int file = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (file < 0) return;
    struct stat status {};
    if (fstat(file, &status) == 0) {
        landlock_path_beneath_attr rule{S_ISDIR(status.st_mode) ? rights : rights & of_files, file};
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U);
    }
    close(file);
}

/// Where along PATH a program lies; the name itself where it lies nowhere.
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

/// A program that was installed outside of /usr, /opt/gcc/bin/g++, may read what was installed with it.
void allow_installation(int rules, const std::string& program, std::uint64_t rights) {
    std::error_code error;
    for (const std::filesystem::path& file :
         {std::filesystem::absolute(program, error), std::filesystem::canonical(program, error)}) {
        const std::filesystem::path folder = file.parent_path();
        if (folder.empty()) continue;
        allow_path(rules, folder.string(), rights);
        for (const char* beside : {"lib", "lib64", "libexec", "include", "share"}) {
            allow_path(rules, (folder.parent_path() / beside).string(), rights);
        }
    }
}

/// A set of rules for the child to bind itself to, or -1 where there are none.
int rules_for(Confinement confinement, const std::string& program, const std::string& folder) {
    const long version = landlock_version();
    if (version < 1 || (confinement != Confinement::compiler && confinement != Confinement::interpreter)) return -1;
    const std::uint64_t rights = known_rights(version);
    landlock_ruleset_attr known{rights};
    const auto rules =
        static_cast<int>(syscall(SYS_landlock_create_ruleset, &known, sizeof known.handled_access_fs, 0U));
    if (rules < 0) return -1;
    const std::uint64_t reads = may_execute | may_read_file | may_read_folder;
    for (const char* path : {"/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/alternatives", "/etc/ld.so.cache",
                             "/etc/ld.so.preload", "/dev/urandom"}) {
        allow_path(rules, path, reads);
    }
    allow_installation(rules, program, reads);
    allow_path(rules, "/dev/null", (may_read_file | may_write_file | may_truncate) & rights);
    allow_path(rules, folder, confinement == Confinement::compiler ? rights : reads);
    return rules;
}

// --- The child, between fork and exec: only calls that are safe there.

struct Pipes {
    std::array<int, 2> input, answers, printed, failure;  // of each pair [0] is the grader's
};

struct Child {
    std::vector<char*> arguments, environment;
    const char* folder;
    const Limits* limits;
    Filter filter;
    int rules;
};

/// Behind the rules about files first: the filter would not let it go there any more.
bool confine(Child& child) {
    if (child.rules < 0 && child.filter.program.empty()) return true;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    if (child.rules >= 0 && syscall(SYS_landlock_restrict_self, child.rules, 0U) != 0) return false;
    if (child.filter.program.empty()) return true;
    if (child.filter.process_at != 0) {
        child.filter.program[child.filter.process_at].k = static_cast<std::uint32_t>(getpid());
    }
    const sock_fprog program{static_cast<unsigned short>(child.filter.program.size()), child.filter.program.data()};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void limit(int resource, rlim_t soft, rlim_t hard) {
    const rlimit both{soft, hard};
    setrlimit(static_cast<__rlimit_resource>(resource), &both);
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
    if (child.rules >= 0) child.rules = fcntl(child.rules, F_DUPFD_CLOEXEC, 10);
    const int failure = fcntl(pipes.failure[1], F_DUPFD_CLOEXEC, std::max(10, child.rules + 1));
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
    bool good = chdir(child.folder) == 0;
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, static_cast<rlim_t>(child.limits->cpu_seconds),
          static_cast<rlim_t>(child.limits->cpu_seconds) + 1);
    limit(RLIMIT_FSIZE, child.limits->file_bytes, child.limits->file_bytes);
    limit(RLIMIT_AS, child.limits->memory_bytes, child.limits->memory_bytes);
    good = good && confine(child);
    if (good) {
        execve(child.arguments[0], child.arguments.data(), child.environment.data());
    }
    const int error = errno;
    [[maybe_unused]] const auto written = write(failure, &error, sizeof error);
    _exit(127);
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

bool file_rules_available() { return landlock_version() >= 1; }

bool filter_available() {
    // Asked with a null program: EFAULT says that the kernel knows filters.
    return architecture != 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT;
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
        throw DataError(fmt::format("cannot start {}: {}", command.front(), error_text(start_error)));
    }
    return run;
}

std::string system_call_name(long number) {
    switch (number) {
        case SYS_openat: return "open a file (openat)";
        case SYS_clone:
        case SYS_clone3: return "start a process or thread (clone)";
        case SYS_socket: return "open a socket";
        case SYS_kill: return "send a signal (kill)";
        case SYS_unlinkat: return "remove a file (unlinkat)";
        case SYS_mkdirat: return "make a folder (mkdirat)";
        case SYS_chdir: return "change the folder (chdir)";
        case SYS_getdents64: return "list a folder (getdents64)";
        case SYS_faccessat: return "ask for a file (faccessat)";
        case SYS_mmap:
        case SYS_mprotect: return "make memory that can be executed";
        case SYS_ptrace: return "trace a process (ptrace)";
#if defined(__x86_64__)
        case SYS_open: return "open a file (open)";
        case SYS_fork:
        case SYS_vfork: return "start a process (fork)";
        case SYS_unlink: return "remove a file (unlink)";
        case SYS_rmdir: return "remove a folder (rmdir)";
        case SYS_mkdir: return "make a folder (mkdir)";
        case SYS_rename: return "rename a file (rename)";
        case SYS_stat: return "ask for a file (stat)";
        case SYS_access: return "ask for a file (access)";
#endif
        default: return fmt::format("use system call {}", number);
    }
}

}  // namespace ulp::course
