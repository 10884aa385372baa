#include "experiments/course/work_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <system_error>

#include "softfloat/errors.hpp"

namespace ulp::course {
namespace fs = std::filesystem;
namespace {

/// Starts `read line; rm -rf folder` on a pipe whose other end is this process's alone.
pid_t start_remover(const fs::path& folder, int& lifeline) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
    const std::string name = folder.string();
    const pid_t process = fork();
    if (process == 0) {
        setsid();  // what ends the grader's group does not end it
        dup2(ends[0], STDIN_FILENO);
        // A pipe that the grader's caller reads to its end must not stay open for it.
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", "trap '' INT TERM HUP; cd /; read -r line; rm -rf -- \"$1\"", "sh", name.c_str(),
              static_cast<char*>(nullptr));
        _exit(127);
    }
    close(ends[0]);
    lifeline = ends[1];
    return process;
}

}  // namespace

WorkFolder::WorkFolder() {
    std::string name = (fs::temp_directory_path() / "ulplab-grade-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw DataError("cannot make a work folder in " + fs::temp_directory_path().string() + "; set TMPDIR");
    }
    path_ = fs::canonical(name);
    remover_ = start_remover(path_, lifeline_);
}

WorkFolder::~WorkFolder() {
    if (lifeline_ >= 0) close(lifeline_);
    if (remover_ > 0) waitpid(remover_, nullptr, 0);
    std::error_code ignored;
    fs::remove_all(path_, ignored);  // where no remover could be started
}

}  // namespace ulp::course
