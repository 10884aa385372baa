// The course as a teacher uploads it to Gradescope, or runs it elsewhere in a container.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/course/course_files.hpp"

namespace ulp::course {

struct AutograderOptions {
    std::filesystem::path program;   // the statically linked grader, ulplab-grade
    std::uint64_t seed = 1;          // of the hidden tests
    std::vector<std::string> names;  // of exercises; empty: all
};

/// What goes into the autograder's archive (Gradescope, "Autograder Specifications"): setup.sh, run_autograder, the
/// grader. Throws DataError where the program cannot be read.
std::vector<CourseFile> autograder_files(const AutograderOptions& options);

/// students.zip, autograder.zip and a Dockerfile that makes an image of the autograder.
std::vector<CourseFile> gradescope_files(const AutograderOptions& options);

}  // namespace ulp::course
