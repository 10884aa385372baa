// Results of grading, for people and for programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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

// A folder of submissions, a folder per student: graded side by side, into one table, resumable.

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
