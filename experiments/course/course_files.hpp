// The files of docs/exercises that students see, inside the program.
#pragma once

#include <filesystem>
#include <string_view>

#include "experiments/course/exercise.hpp"

namespace ulp::course {

/// docs/exercises/<exercise>/<file>. Throws std::logic_error for one that there is not.
std::string_view course_file(const Exercise& exercise, std::string_view file);
/// docs/exercises/support/<file>.
std::string_view shared_course_file(std::string_view file);

/// Writes the students' tree: for each exercise its folder with statement, interface, starter and public tests, and how
/// to begin. Throws UsageError where `folder` exists and is not empty; DataError where it cannot be written, and then
/// leaves nothing.
void export_course(const std::filesystem::path& folder);

}  // namespace ulp::course
