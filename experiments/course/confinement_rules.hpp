// Filters of system calls (seccomp): lists of what a computing program needs; everything else is trapped.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <string>
#include <vector>

#include "experiments/course/run_confined.hpp"

namespace ulp::course {

struct CallFilter {
    std::vector<sock_filter> program;  // empty: none
    std::size_t process_at = 0;        // entry that is to hold the process's number (abort() signals itself); 0: none
};
CallFilter filter_for(Confinement confinement);

/// Whether this system has filters of system calls, for this processor.
bool filter_available();

/// "open a file (openat)" ...: what a system call of this processor does, as far as programs are caught with it.
std::string system_call_name(long number);

// Rules about the files that a process may open (Landlock).

/// A set of rules for a child that runs `program` in `folder` to bind itself to: a file descriptor, the caller's to
/// close; -1 where there are none.
int rules_for(Confinement confinement, const std::string& program, const std::string& folder);

/// Whether this system's kernel has Landlock, by which `compiler` and `interpreter` keep to their files. Without it
/// they read what the user may read.
bool file_rules_available();

}  // namespace ulp::course
