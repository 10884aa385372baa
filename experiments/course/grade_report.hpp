// Results of grading, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "experiments/course/grader.hpp"

namespace ulp::course {

/// One exercise: its score, what failed, and the likely misconceptions.
std::string console_text(const ExerciseResult& result);

/// Gradescope's results.json (its documentation, "Autograder Specifications"): a test for each group of questions.
std::string gradescope_json(const std::vector<ExerciseResult>& results);

/// JUnit's XML: a test suite an exercise, a test case a group.
std::string junit_xml(const std::vector<ExerciseResult>& results);

}  // namespace ulp::course
