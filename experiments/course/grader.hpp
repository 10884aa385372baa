// Grading: a student's file is compiled and run on questions, and its answers are compared with the right ones here, in
// the grader's process; the student's program never sees them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/course/course_files.hpp"
#include "experiments/course/exercise.hpp"
#include "experiments/course/run_confined.hpp"

namespace ulp::course {

/// What became of the student's file before its answers could be judged.
enum class Outcome { judged, no_file, refused, does_not_compile, does_not_link, stopped };

struct GroupResult {
    std::string name;
    int points = 0;
    int tolerance = 0;  // in ulps
    std::size_t right = 0;
    std::size_t questions = 0;
    std::string failure{};                   // a small wrong case, several lines
    std::optional<std::size_t> diagnosis{};  // of ExerciseResult::diagnoses, the one that explains most here
    std::size_t explained = 0;               // wrong answers that it explains here
    std::vector<std::string_view> catches{}, forgives{};  // of Group
    [[nodiscard]] bool passed() const { return right == questions; }
};

/// A known mistake that accounts for wrong answers.
struct Diagnosis {
    std::string id;
    std::string says;
    std::size_t explained = 0;             // wrong answers that are this mistake's, bit for bit
    std::vector<std::size_t> questions{};  // which ones
};

struct ExerciseResult {
    std::string name;
    std::string title;
    Outcome outcome = Outcome::judged;
    std::string message;  // why it was not judged, or why the program ended before its time; several lines
    std::vector<GroupResult> groups{};
    std::vector<Diagnosis> diagnoses{};
    std::size_t wrong = 0;        // of all answers
    std::size_t unexplained = 0;  // wrong answers that no known mistake gives

    [[nodiscard]] int score() const;
    [[nodiscard]] int points() const;
    [[nodiscard]] bool full() const;
};

struct GradeOptions {
    std::uint64_t seed = 1;
    bool public_only = false;            // the public tests alone; they bring no points
    std::filesystem::path recordings{};  // of GPUs, for the exercises that can use them; empty: none
    std::vector<std::string> compiler = {"g++"};
    std::string python = "/usr/bin/python3";
    Limits limits{};
    bool without_filter = false;  // no filter of system calls and no rules about files, for compilers and programs
};

/// The compiler of the environment variable CXX, in words, or g++.
std::vector<std::string> compiler_from_environment();
/// The interpreter of the environment variable PYTHON, or the system's.
std::string python_from_environment();

// The questions of an exercise, and what a student's answers are worth.

struct Asked {
    std::vector<Words> questions, expected;
    std::vector<std::size_t> group_of;
    std::vector<GroupResult> groups;

    [[nodiscard]] int tolerance_of(std::size_t question) const { return groups[group_of[question]].tolerance; }
};

/// The public tests, and, where the options say so, the hidden ones and those of recordings.
Asked questions_for(const Exercise& exercise, const GradeOptions& options);

class Grader {
  public:
    /// Makes the temporary work folder, which goes with the object. Throws UsageError where there is no filter of
    /// system calls and the options do not say to do without; DataError where the folder cannot be made.
    explicit Grader(GradeOptions options);

    /// Grades <folder>/<name>.cpp, or else <folder>/<name>/<name>.cpp, or of the exercises that may be written in
    /// Python the same with .py. Whatever the student's file does becomes part of the result. Throws DataError where
    /// the grader itself fails: no compiler, full disk.
    ExerciseResult grade(const Exercise& exercise, const std::filesystem::path& student);
    /// The same of one file.
    ExerciseResult grade_file(const Exercise& exercise, const std::filesystem::path& file);

    /// The seed of the hidden tests from here on.
    void set_seed(std::uint64_t seed) {
        if (seed != options_.seed) asked_.clear();
        options_.seed = seed;
    }

    [[nodiscard]] const std::filesystem::path& work_folder() const { return work_.path(); }

  private:
    /// What became of the file, and if it is good the command that runs it.
    struct Compiled {
        Outcome outcome;
        std::string message;
        std::vector<std::string> command{};
        Confinement confinement = Confinement::filter;
    };
    std::filesystem::path adapter_object(const Exercise& exercise);
    std::string foreign_header(const std::filesystem::path& folder);
    Compiled compile(const Exercise& exercise, const std::filesystem::path& folder);
    Compiled link(const std::filesystem::path& adapter, const std::filesystem::path& folder);
    Compiled build(const Exercise& exercise, const std::filesystem::path& file, const std::filesystem::path& folder);
    [[nodiscard]] Confinement compiler_confinement() const;

    GradeOptions options_;
    std::map<std::string_view, Asked> asked_;  // by exercise, of this seed
    WorkFolder work_;
    std::map<std::string, std::filesystem::path, std::less<>> adapters_;  // compiled once
    std::set<std::filesystem::path> own_headers_;                         // files and folders of the compiler's own
    int runs_ = 0;
};

/// The mistakes that account for the wrong answers, the one with most first; few rather than many.
/// `answers` has an entry per question; so have `tolerances`, in ulps, or none.
std::vector<Diagnosis> diagnose(const Exercise& exercise, const std::vector<Words>& questions,
                                const std::vector<Words>& expected, const std::vector<Words>& answers,
                                std::size_t& unexplained, const std::vector<int>& tolerances = {});

/// The questions that recordings of GPUs below a folder ask: their rows as public tests of this exercise.
/// Empty for the exercises that have none.
std::vector<PublicTest> recorded_tests(const Exercise& exercise, const std::filesystem::path& recordings);

/// Answers of the student's program to other questions; fewer where it ends before its time.
using AnswerAgain = std::function<std::vector<Words>(const std::vector<Words>&)>;

struct WrongCase {
    std::size_t group;
    Words question, answer;
    int tolerance;
    std::string_view mistake;  // the known one that it shows; empty: none
};
/// Makes each case smaller: leaves out elements and makes numbers simpler while the program stays wrong in the same
/// way.
void shrink(const Exercise& exercise, std::vector<WrongCase>& cases, const AnswerAgain& again);

/// Counts right answers, names the likely misconceptions, and shows of each group a wrong case, made as small as
/// `again` allows. `answers` may be fewer than the questions.
void judge(const Exercise& exercise, const Asked& asked, std::vector<Words> answers, ExerciseResult& result,
           const AnswerAgain& again = {});

// What a student's program is asked and what it says, through pipes: a record is a count and as many words, in the
// machine's byte order. docs/exercises/support/driver.hpp and driver.py are the other end.

/// The first word of the driver's last record, which tells how the program ended.
constexpr Word last_record = 0xFFFFFFFF;
enum LastRecord : Word { ended_well = 1, caught_signal = 2, threw = 3 };

struct Answers {
    std::vector<Words> list;
    std::optional<LastRecord> end;
    Word signal = 0;
    Word system_call = 0;
    std::string exception;
};

std::string as_input(const std::vector<Words>& questions);
Answers parse_answers(const std::string& text);

/// Why the program did not answer to the end; empty if it did.
std::string trouble(const ConfinedRun& run, const Answers& answers, const Limits& limits);

/// What a program printed: at most five lines, with what is no printable ASCII as '?'.
std::string first_lines(const std::string& text);

}  // namespace ulp::course
