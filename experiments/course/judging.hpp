// The questions of an exercise, and what a student's answers are worth.
#pragma once

#include "experiments/course/grader.hpp"

namespace ulp::course {

struct Asked {
    std::vector<Words> questions, expected;
    std::vector<std::size_t> group_of;
    std::vector<GroupResult> groups;

    [[nodiscard]] int tolerance_of(std::size_t question) const { return groups[group_of[question]].tolerance; }
};

/// The public tests, and, where the options say so, the hidden ones and those of recordings.
Asked questions_for(const Exercise& exercise, const GradeOptions& options);

/// Counts right answers, shows the smallest wrong one of each group, and names the likely misconceptions. `answers` may
/// be fewer than the questions.
void judge(const Exercise& exercise, const Asked& asked, std::vector<Words> answers, ExerciseResult& result);

}  // namespace ulp::course
