// Rules about the files that a process may open (Landlock).
#pragma once

#include <string>

#include "experiments/course/run_confined.hpp"

namespace ulp::course {

/// A set of rules for a child that runs `program` in `folder` to bind itself to: a file descriptor, the caller's to
/// close; -1 where there are none.
int rules_for(Confinement confinement, const std::string& program, const std::string& folder);

/// Whether this system's kernel has Landlock, by which `compiler` and `interpreter` keep to their files. Without it
/// they read what the user may read.
bool file_rules_available();

}  // namespace ulp::course
