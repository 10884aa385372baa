// Results of grading, for people and for programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/course/course_files.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/course/submissions.hpp"

namespace ulp::course {

/// One exercise: its score, what failed, and the likely misconceptions.
std::string console_text(const ExerciseResult& result);

/// Gradescope's results.json (its documentation, "Autograder Specifications"): a test for each group of questions.
/// `notes` stand above the tests.
std::string gradescope_json(const std::vector<ExerciseResult>& results, Visibility visible = Visibility::all,
                            const std::vector<std::string>& notes = {});

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

/// students.zip of the students' files, autograder.zip and a Dockerfile that makes an image of the autograder.
std::vector<CourseFile> gradescope_files(const std::vector<CourseFile>& students, const AutograderOptions& options);

// A class (submissions.hpp): graded side by side, into tables and one page, resumable.

struct ClassOptions {
    GradeOptions grading{};
    std::vector<const Exercise*> exercises{};  // empty: those of class.json, or else all
    std::filesystem::path submissions{};
    std::filesystem::path out{};  // gets a folder per submission, and the tables
    int jobs = 1;
};

/// A known mistake in one submission, with the smallest case that shows it.
struct Misconception {
    std::string exercise{}, id{}, says{}, example{};
    std::size_t explained = 0;  // wrong answers
};

struct StudentGrade {
    std::string student{};      // the submission's name
    std::vector<int> scores{};  // of each exercise
    int total = 0;
    int points = 0;        // that can be earned
    bool resumed = false;  // of an earlier run with the same files and options
    std::vector<Misconception> misconceptions{};
    std::vector<std::string> notes{};
};

/// What was graded, and of whom: the tables and the page are made of it.
struct GradedClass {
    Class handed_in{};
    std::vector<const Exercise*> exercises{};
    std::vector<StudentGrade> grades{};  // of each submission
};

/// Grades all students and writes grades.csv and what write_class_report does. A student whose files, exercises and
/// seed are those of an earlier run in `out` is not graded again. `told` hears of each student when done, one at a
/// time. Throws DataError where the grader itself fails; what has been graded stays.
GradedClass grade_class(
    const ClassOptions& options, const std::function<void(const StudentGrade&)>& told = [](const auto&) {});

/// Writes misconceptions.csv, similar.csv, notes.csv, gradebook.csv (Canvas, "How do I import grades in the
/// Gradebook?") and, where the program has its templates, class.html.
void write_class_report(const GradedClass& graded, const std::filesystem::path& out);

/// The part of the runs of 12 tokens that two programs share, from 0 to 1: of their C++ or Python without comments,
/// names and texts, and without the runs of `given`. 0 where less than 30 are left of either.
double similarity(const std::string& a, const std::string& b, const std::vector<std::string_view>& given = {});

/// A field of a CSV file (RFC 4180). One that a spreadsheet would take for a formula gets a quote in front.
std::string csv_field(const std::string& text);

}  // namespace ulp::course
