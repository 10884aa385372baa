// A folder of submissions, a folder per student: graded side by side, into one table, resumable.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/course/grader.hpp"

namespace ulp::course {

struct ClassOptions {
    GradeOptions grading{};
    std::vector<const Exercise*> exercises{};
    std::filesystem::path submissions{};  // its subfolders are the students
    std::filesystem::path out{};          // gets <student>/results.json, junit.xml and grade.txt, and grades.csv
    int jobs = 1;
};

struct StudentGrade {
    std::string student;
    std::vector<int> scores;  // of each exercise
    int total = 0;
    bool resumed = false;  // of an earlier run with the same files and options
};

/// Grades all students and writes grades.csv. A student whose files, exercises and seed are those of an earlier run in
/// `out` is not graded again. `told` hears of each student when done, one at a time. Throws DataError where the grader
/// itself fails; what has been graded stays.
std::vector<StudentGrade> grade_class(
    const ClassOptions& options, const std::function<void(const StudentGrade&)>& told = [](const auto&) {});

/// A field of a CSV file (RFC 4180). One that a spreadsheet would take for a formula gets a quote in front.
std::string csv_field(const std::string& text);

}  // namespace ulp::course
