#include <fcntl.h>
#include <fmt/core.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "experiments/course/run_confined.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace {

// Calls that a processor has not are left out by the library.

constexpr std::string_view computing =
    "read write writev close lseek fstat newfstatat brk munmap mremap madvise "
    // signals of its own, and the end
    "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack exit exit_group "
    // what the C library asks when a program starts
    "set_tid_address set_robust_list rseq readlinkat getrandom futex getpid gettid uname arch_prctl readlink "
    // time; the start itself: a program started from here would be behind the same filter
    "clock_gettime clock_nanosleep nanosleep sched_yield execve";

/// What an interpreter needs besides, to read its modules. Landlock says which files.
constexpr std::string_view reading =
    "getdents64 dup pread64 getcwd statx statfs faccessat faccessat2 getuid geteuid getgid getegid sysinfo stat lstat "
    "access getrusage sched_getaffinity";

/// What a compiler never needs; files are Landlock's.
constexpr std::string_view never =
    "socket socketpair connect ptrace process_vm_readv process_vm_writev mount umount2 pivot_root chroot unshare setns "
    "bpf "
    "perf_event_open io_uring_setup keyctl add_key request_key init_module finit_module kexec_load reboot setsid "
    "setpgid";

/// An argument whose bits in the mask are the value. The kernel takes each of these arguments as 32 bits, or
/// (protections of memory) gives its bits above them no meaning.
scmp_arg_cmp argument(unsigned number, std::uint32_t mask, std::uint32_t value) {
    return {number, SCMP_CMP_MASKED_EQ, mask, value};
}
constexpr std::uint32_t all_bits = ~std::uint32_t{0};

void add_rule(const CallFilter& filter, std::uint32_t verdict, int call, std::optional<scmp_arg_cmp> where = {}) {
    const int error = seccomp_rule_add_array(filter.get(), verdict, call, where ? 1 : 0, where ? &*where : nullptr);
    if (error != 0) throw DataError(fmt::format("libseccomp refuses a rule for system call {} ({})", call, -error));
}

void add_rules(const CallFilter& filter, std::uint32_t verdict, std::string_view calls) {
    std::istringstream names{std::string(calls)};
    for (std::string name; names >> name;) {
        const int call = seccomp_syscall_resolve_name(name.c_str());
        if (call == __NR_SCMP_ERROR) throw DataError(fmt::format("this libseccomp does not know the call {}", name));
        add_rule(filter, verdict, call);
    }
}

/// Its own limits only, and of the requests to open files those that change no owner of signals: FIOASYNC, FIOSETOWN,
/// SIOCSPGRP and F_SETOWN, F_SETSIG, F_SETFL would let the kernel send a signal to any process of the user. Files are
/// opened for reading only, whether or not the kernel has rules about files. An interpreter maps its modules' code;
/// a program has no memory that it can write and execute.
void add_rules_by_argument(const CallFilter& filter, bool interprets) {
    const auto allow = [&](int call, unsigned number, std::initializer_list<std::uint32_t> values) {
        for (const std::uint32_t value : values) {
            add_rule(filter, SCMP_ACT_ALLOW, call, argument(number, all_bits, value));
        }
    };
    constexpr std::uint32_t terminal_settings_2 = 0x802C542A;  // TCGETS2, which newer C libraries ask isatty() by
    allow(SCMP_SYS(prlimit64), 0, {0});
    allow(SCMP_SYS(ioctl), 1, {TCGETS, terminal_settings_2, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX});
    for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
        add_rule(filter, SCMP_ACT_ALLOW, call, interprets ? std::nullopt : std::optional(argument(2, PROT_EXEC, 0)));
    }
    if (!interprets) return;
    allow(SCMP_SYS(fcntl), 1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL});
    constexpr std::uint32_t writing[] = {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE & ~O_DIRECTORY};
    for (const auto& [call, flags] : {std::pair{SCMP_SYS(open), 1U}, std::pair{SCMP_SYS(openat), 2U}}) {
        std::uint32_t any = 0;
        for (const std::uint32_t bit : writing) {
            any |= bit;
            add_rule(filter, SCMP_ACT_ERRNO(EACCES), call, argument(flags, bit, bit));
        }
        add_rule(filter, SCMP_ACT_ALLOW, call, argument(flags, any, 0));
    }
}

}  // namespace

CallFilter filter_for(Confinement confinement) {
    CallFilter filter(nullptr, &seccomp_release);
    if (confinement == Confinement::limits) return filter;
    const bool compiles = confinement == Confinement::compiler;
    filter.reset(seccomp_init(compiles ? SCMP_ACT_ALLOW : SCMP_ACT_TRAP));
    if (!filter || seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0) {
        throw DataError("libseccomp makes no filter of system calls");
    }
    if (compiles) {
        add_rules(filter, SCMP_ACT_ERRNO(EPERM), never);
        return filter;
    }
    const bool interprets = confinement == Confinement::interpreter;
    add_rules(filter, SCMP_ACT_ALLOW, computing);
    if (interprets) add_rules(filter, SCMP_ACT_ALLOW, reading);
    add_rules_by_argument(filter, interprets);
    return filter;
}

bool bind_to(const CallFilter& filter) {
    if (!filter) return true;
    // abort() signals the process itself. A filter that allows all but some calls refuses this rule as one too many.
    const scmp_arg_cmp itself = argument(0, all_bits, static_cast<std::uint32_t>(getpid()));
    const int added = seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, &itself);
    return (added == 0 || added == -EACCES) && seccomp_load(filter.get()) == 0;
}

bool filter_available() {
    // Asked with a null program: EFAULT says that the kernel knows filters.
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT;
}

std::string system_call_name(long number) {
    // By the beginning of the call's name.
    static constexpr std::pair<std::string_view, std::string_view> does[] = {
        {"open", "open a file"},
        {"clone", "start a process or thread"},
        {"fork", "start a process"},
        {"vfork", "start a process"},
        {"socket", "open a socket"},
        {"kill", "send a signal"},
        {"unlink", "remove a file"},
        {"rmdir", "remove a folder"},
        {"mkdir", "make a folder"},
        {"rename", "rename a file"},
        {"chdir", "change the folder"},
        {"getdents", "list a folder"},
        {"stat", "ask for a file"},
        {"access", "ask for a file"},
        {"faccessat", "ask for a file"},
        {"mmap", "make memory that can be executed"},
        {"mprotect", "make memory that can be executed"},
        {"ptrace", "trace a process"},
        {"prlimit", "change the limits of another process"},
        {"ioctl", "change a device, or who gets a file's signals"},
        {"fcntl", "change who gets a file's signals, or a file's locks"},
    };
    const std::unique_ptr<char, decltype(&std::free)> found(
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)), &std::free);
    if (!found) return fmt::format("use system call {}", number);
    const std::string_view name = found.get();
    const auto* row = std::ranges::find_if(does, [&](const auto& each) { return name.starts_with(each.first); });
    return fmt::format("{} ({})", row == std::end(does) ? "use a system call" : row->second, name);
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
