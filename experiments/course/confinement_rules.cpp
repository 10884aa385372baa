#include <fcntl.h>
#include <fmt/core.h>
#include <linux/audit.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>

#include "experiments/course/run_confined.hpp"

namespace ulp::course {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t architecture = 0;
#endif

constexpr long computing[] = {SYS_read, SYS_write, SYS_writev, SYS_close, SYS_lseek, SYS_fstat, SYS_newfstatat,
                              // memory
                              SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise,
                              // signals of its own, and the end
                              SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_exit,
                              SYS_exit_group,
                              // what the C library asks when a program starts
                              SYS_set_tid_address, SYS_set_robust_list, SYS_rseq, SYS_readlinkat, SYS_getrandom,
                              SYS_futex, SYS_getpid, SYS_gettid, SYS_uname,
#if defined(__x86_64__)
                              SYS_arch_prctl, SYS_readlink,
#endif
                              // time
                              SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_sched_yield,
                              // the start itself; a program started from here would be behind the same filter
                              SYS_execve};

/// What an interpreter needs besides, to read its modules. Landlock says which files.
constexpr long reading[] = {
    SYS_getdents64, SYS_dup,    SYS_pread64, SYS_getcwd, SYS_statx,   SYS_statfs,  SYS_faccessat,
    SYS_faccessat2, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_sysinfo, SYS_sched_getaffinity,
    SYS_getrusage,
#if defined(__x86_64__)
    SYS_stat,       SYS_lstat,  SYS_access,
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

/// A call that is allowed where the masked lower half of an argument is one of these values. The kernel takes each of
/// these arguments as 32 bits, or (protections of memory) gives its bits above them no meaning.
struct ByArgument {
    long number;
    unsigned argument;
    std::uint32_t mask;
    std::vector<std::uint32_t> allowed;
    std::uint32_t otherwise = SECCOMP_RET_TRAP;
};

/// Returns the place of the first allowed value.
std::size_t add_rule(std::vector<sock_filter>& program, const ByArgument& rule) {
    const auto values = static_cast<int>(rule.allowed.size());
    program.push_back(jump_if_equal(static_cast<std::uint32_t>(rule.number), 0, 4 + values));
    program.push_back(
        statement(BPF_LD | BPF_W | BPF_ABS,
                  static_cast<std::uint32_t>(offsetof(seccomp_data, args) + rule.argument * sizeof(std::uint64_t))));
    program.push_back(statement(BPF_ALU | BPF_AND | BPF_K, rule.mask));
    const std::size_t first_value = program.size();
    for (int i = 0; i < values; ++i) {
        program.push_back(jump_if_equal(rule.allowed[static_cast<std::size_t>(i)], values - i, 0));
    }
    program.push_back(statement(BPF_RET | BPF_K, rule.otherwise));
    program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return first_value;
}

constexpr std::uint32_t all_bits = ~std::uint32_t{0};

/// Its own limits only, and of the requests to open files those that change no owner of signals: FIOASYNC, FIOSETOWN,
/// SIOCSPGRP and F_SETOWN, F_SETSIG, F_SETFL would let the kernel send a signal to any process of the user.
std::vector<ByArgument> rules_by_argument() {
    constexpr std::uint32_t terminal_settings_2 = 0x802C542A;  // TCGETS2, which newer C libraries ask isatty() by
    return {{SYS_prlimit64, 0, all_bits, {0}},
            {SYS_ioctl, 1, all_bits, {TCGETS, terminal_settings_2, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX}}};
}

/// Files are opened for reading only, whether or not the kernel has rules about files.
std::vector<ByArgument> rules_of_interpreters() {
    constexpr std::uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
    constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EACCES;
    return {
        {SYS_fcntl, 1, all_bits, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL}},
#if defined(__x86_64__)
            {SYS_open, 1, writing, {0}, refused},
#endif
        {
            SYS_openat, 2, writing, {0}, refused
        }
    };
}

}  // namespace

CallFilter filter_for(Confinement confinement) {
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
    const bool interprets = confinement == Confinement::interpreter;
    add_rules(program, computing, SECCOMP_RET_ALLOW);
    if (interprets) add_rules(program, reading, SECCOMP_RET_ALLOW);
    for (const ByArgument& rule : rules_by_argument()) add_rule(program, rule);
    for (const long number : {SYS_mmap, SYS_mprotect}) {
        // An interpreter maps its modules' code. A program has no memory that it can write and execute.
        add_rule(program, {number, 2, interprets ? 0U : std::uint32_t{PROT_EXEC}, {0}});
    }
    if (interprets) {
        for (const ByArgument& rule : rules_of_interpreters()) add_rule(program, rule);
    }
    const std::size_t process_at = add_rule(program, {SYS_tgkill, 0, all_bits, {0}});
    program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    return {std::move(program), process_at};
}

bool filter_available() {
    // Asked with a null program: EFAULT says that the kernel knows filters.
    return architecture != 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT;
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
        case SYS_prlimit64: return "change the limits of another process (prlimit64)";
        case SYS_ioctl: return "change a device, or who gets a file's signals (ioctl)";
        case SYS_fcntl: return "change who gets a file's signals, or a file's locks (fcntl)";
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

// Linux's userspace API guide, "Landlock: unprivileged access control". The numbers are written out: Debian 12's header
// has those of the first two versions only.

namespace {

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

}  // namespace

bool file_rules_available() { return landlock_version() >= 1; }

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

}  // namespace ulp::course
