// Results of grading, for people and for programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/course/course_files.hpp"
#include "experiments/course/grader.hpp"

namespace ulp::course {

/// One exercise: its score, what failed, and the likely misconceptions.
std::string console_text(const ExerciseResult& result);

/// Gradescope's results.json (its documentation, "Autograder Specifications"): a test for each group of questions.
std::string gradescope_json(const std::vector<ExerciseResult>& results);

/// JUnit's XML: a test suite an exercise, a test case a group.
std::string junit_xml(const std::vector<ExerciseResult>& results);

// The course as a teacher uploads it to Gradescope, or runs it elsewhere in a container.

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
