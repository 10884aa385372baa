// What a submission must not do to the other processes of its grader's user: signal them, or change their limits.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <string>

#include "experiments/course/grade_report.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/framework/files.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp::course;
using ulp::test::TemporaryFolder;
namespace fs = std::filesystem;

bool filtered() {
    if (filter_available()) return true;
    std::cout << "skipped: no filter of system calls\n";
    return false;
}

/// A process that does nothing, as any other of the user.
class Bystander {
  public:
    Bystander() : process_(fork()) {
        while (process_ == 0) pause();
    }
    ~Bystander() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    Bystander(const Bystander&) = delete;
    Bystander& operator=(const Bystander&) = delete;
    [[nodiscard]] pid_t process() const { return process_; }
    [[nodiscard]] bool lives() const {
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT);
        return info.si_pid == 0;
    }
    [[nodiscard]] rlim_t most_files() const {
        rlimit limits{};
        prlimit(process_, RLIMIT_NOFILE, nullptr, &limits);
        return limits.rlim_cur;
    }

  private:
    pid_t process_;
};

struct Attack {
    const char* name;
    const char* exercise;  // .py: a Python program, else a C++ one
    const char* code;      // VICTIM stands for the process
    const char* says;      // the grade, of what was tried
};

constexpr const char* python_head = "import fcntl, os, resource\ndef find_first(operations):\n    ";
constexpr const char* cpp_head =
    "#include <csignal>\n#include <unistd.h>\nextern \"C\" int ioctl(int, unsigned long, ...);\n"
    "struct Few { unsigned long now, most; };\nextern \"C\" int prlimit(int, int, const Few*, Few*);\n"
    "#include \"exercise.hpp\"\nfloat value_of_half(std::uint16_t) {\n";

constexpr const char* in_python = "tried what is not allowed here";
constexpr Attack attacks[] = {
    {"a signal by F_SETOWN and F_SETSIG", "find_nan.py",
     "for f in (0, 1, 3):\n        fcntl.fcntl(f, 10, 9); fcntl.fcntl(f, 8, VICTIM)\n"
     "        fcntl.fcntl(f, fcntl.F_SETFL, fcntl.fcntl(f, fcntl.F_GETFL) | os.O_ASYNC)\n"
     "        if f: os.write(f, b'x' * 100)\n    return -1\n",
     in_python},
    {"a signal by F_SETOWN alone", "find_nan.py",
     "for f in (0, 1, 3):\n        fcntl.fcntl(f, fcntl.F_SETOWN, VICTIM)\n    return -1\n", in_python},
    {"a lease", "find_nan.py", "fcntl.fcntl(os.open(__file__, os.O_RDONLY), 1024, 0)\n    return -1\n", in_python},
    {"another's limits", "find_nan.py", "resource.prlimit(VICTIM, resource.RLIMIT_NOFILE, (3, 3))\n    return -1\n",
     in_python},
    {"another's limits are read", "find_nan.py",
     "print(resource.prlimit(VICTIM, resource.RLIMIT_NOFILE))\n    return -1\n", in_python},
    {"a signal by FIOASYNC and FIOSETOWN", "decode_half.cpp",
     "int owner = VICTIM, on = 1;\nfor (int f = 0; f < 4; ++f) { ioctl(f, 0x8901 /* FIOSETOWN */, &owner); ioctl(f, "
     "0x5452 /* FIOASYNC */, &on);\n"
     "if (f == 1) { const auto n = write(f, \"xxxx\", 4); (void)n; } }\nreturn 0;\n}\n",
     "who gets a file's signals (ioctl)"},
    {"another's limits, in C++", "decode_half.cpp",
     "const Few few{3, 3};\nprlimit(VICTIM, 7 /* RLIMIT_NOFILE */, &few, nullptr);\nreturn 0;\n}\n",
     "the limits of another process (prlimit64)"},
};

std::string with_victim(std::string text, pid_t victim) {
    for (auto at = text.find("VICTIM"); at != std::string::npos; at = text.find("VICTIM")) {
        text.replace(at, 6, std::to_string(victim));
    }
    return text;
}

/// In a process behind the filter: the error of f(), 0 where it works.
template <class Function>
int error_behind_filter(Confinement confinement, const Function& f) {
    const pid_t process = fork();
    if (process == 0) {
        const bool good = bind_to(filter_for(confinement));
        _exit(good ? (f() >= 0 ? 0 : errno) : 125);
    }
    int status = 0;
    waitpid(process, &status, 0);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a submission can neither signal other processes nor change their limits") {
    if (!filtered()) return;
    GradeOptions options{.seed = 7};
    options.limits.wall_seconds = 10;
    Grader grader(options);
    for (const Attack& attack : attacks) {
        CAPTURE(std::string(attack.name));
        const Bystander bystander;
        const rlim_t files = bystander.most_files();
        const fs::path name = attack.exercise;
        const bool is_python = name.extension() == ".py";
        const TemporaryFolder student;
        ulp::write_file(
            student / name.string(),
            with_victim((is_python ? python_head : cpp_head) + std::string(attack.code), bystander.process()));
        const ExerciseResult result =
            grader.grade_file(exercise_by_name(name.stem().string()), student / name.string());
        INFO(console_text(result));
        CHECK(result.score() == 0);
        CHECK(console_text(result).find(attack.says) != std::string::npos);
        CHECK(bystander.lives());
        CHECK(bystander.most_files() == files);
    }
}

TEST_CASE("ways out of a process are trapped for programs and interpreters") {
    if (!filtered()) return;
    struct Way {
        const char* name;
        long call;
        long first, second, third;
    };
    const Bystander bystander;
    const long other = bystander.process();
    const Way ways[] = {
        {"a signal", SYS_kill, other, SIGKILL, 0},
        {"a signal to a thread", SYS_tkill, other, SIGKILL, 0},
        {"a signal to a thread of a process", SYS_tgkill, other, other, SIGKILL},
        {"a signal with a value", SYS_rt_sigqueueinfo, other, SIGKILL, 0},
        {"a process as a file", SYS_pidfd_open, other, 0, 0},
        {"a signal through such a file", SYS_pidfd_send_signal, 0, SIGKILL, 0},
        {"a copy of another's descriptor", SYS_pidfd_getfd, 0, 0, 0},
        {"another's priority", SYS_setpriority, 0, other, 19},
        {"another's processors", SYS_sched_setaffinity, other, 0, 0},
        {"another's scheduler", SYS_sched_setscheduler, other, 0, 0},
        {"another's limits", SYS_prlimit64, other, RLIMIT_NOFILE, 0},
        {"characters typed into the terminal", SYS_ioctl, 0, 0x5412 /* TIOCSTI */, 0},
        {"a terminal of its own", SYS_ioctl, 0, 0x540E /* TIOCSCTTY */, 0},
        {"the terminal's group", SYS_ioctl, 0, 0x5410 /* TIOCSPGRP */, 0},
        {"a group of another", SYS_setpgid, 0, other, 0},
        {"shared memory", SYS_shmget, 1, 4096, 0666 | 01000},
        {"a queue of messages", SYS_msgget, 1, 0666 | 01000, 0},
        {"a semaphore", SYS_semget, 1, 1, 0666 | 01000},
        {"memory as a file", SYS_memfd_create, 0, 0, 0},
        {"a timer that signals", SYS_timer_create, 0, 0, 0},
        {"an interval timer", SYS_setitimer, 0, 0, 0},
        {"a timer as a file", SYS_timerfd_create, 0, 0, 0},
        {"io_uring", SYS_io_uring_setup, 8, 0, 0},
        {"page faults as a file", SYS_userfaultfd, 0, 0, 0},
        {"another's memory", SYS_process_vm_readv, other, 0, 0},
        {"tracing", SYS_ptrace, 16 /* PTRACE_ATTACH */, other, 0},
        {"counters of the processor", SYS_perf_event_open, 0, other, 0},
        {"a program in the kernel", SYS_bpf, 0, 0, 0},
        {"a namespace", SYS_unshare, 0x10000000 /* CLONE_NEWUSER */, 0, 0},
        {"a mount", SYS_mount, 0, 0, 0},
        {"a socket", SYS_socket, 1, 1, 0},
        {"a process", SYS_clone, SIGCHLD, 0, 0},
    };
    for (const Way& way : ways) {
        for (const Confinement each : {Confinement::interpreter, Confinement::filter}) {
            CAPTURE(std::string(way.name));
            CAPTURE(static_cast<int>(each));
            CHECK(error_behind_filter(each, [&] {
                      return syscall(way.call, way.first, way.second, way.third, 0, 0);
                  }) == 1000 + SIGSYS);
        }
    }
    CHECK(bystander.lives());
}

TEST_CASE("behind the filter of interpreters files are opened for reading, and descriptors copied") {
    if (!filtered()) return;
    const TemporaryFolder teachers;
    const std::string file = (teachers / "grades").string();
    ulp::write_file(file, "10 of 10");
    const auto opens = [&](int flags) {
        return error_behind_filter(Confinement::interpreter, [&] { return open(file.c_str(), flags, 0600); });
    };
    CHECK(opens(O_RDONLY) == 0);
    CHECK(opens(O_RDONLY | O_CLOEXEC) == 0);
    for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT, O_WRONLY | O_APPEND}) {
        CAPTURE(flags);
        CHECK(opens(flags) == EACCES);
    }
    CHECK(ulp::read_file(file) == "10 of 10");
    const auto controls = [&](int command, int argument) {
        return error_behind_filter(Confinement::interpreter, [&] { return fcntl(0, command, argument); });
    };
    for (const int command : {F_GETFD, F_GETFL, F_DUPFD_CLOEXEC}) CHECK(controls(command, 0) == 0);
    for (const int command : {F_SETOWN, F_SETFL, F_SETSIG, F_SETLEASE, F_NOTIFY}) {
        CAPTURE(command);
        CHECK(controls(command, 0) == 1000 + SIGSYS);
    }
    // Its own limits it may ask for, as the C library does.
    for (const Confinement each : {Confinement::interpreter, Confinement::filter}) {
        rlimit own{};
        CHECK(error_behind_filter(each, [&] { return prlimit(0, RLIMIT_STACK, nullptr, &own); }) == 0);
        CHECK(error_behind_filter(each, [&] { return prlimit(getppid(), RLIMIT_STACK, nullptr, &own); }) ==
              1000 + SIGSYS);
    }
}
