// The bad submissions of bad_submissions.hpp: none earns points, writes a file, or brings a file's content into its
// grade.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "experiments/course/grade_report.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/framework/files.hpp"
#include "tests/course/bad_submissions.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp::course;
using ulp::test::BadSubmission;
using ulp::test::TemporaryFolder;
namespace fs = std::filesystem;

constexpr const char* secret = "xyzzy";

std::string with(std::string text, const std::string& mark, const std::string& value) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.replace(at, mark.size(), value);
    return text;
}

std::size_t entries(const fs::path& folder) {
    return static_cast<std::size_t>(
        std::distance(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator()));
}

GradeOptions impatient() {
    GradeOptions options{.seed = 7};
    options.limits.cpu_seconds = 1;
    options.limits.wall_seconds = 4;
    options.limits.memory_bytes = 64 << 20;
    options.limits.printed_bytes = 100 << 10;
    return options;
}

void check_earns_nothing(const BadSubmission& bad, Grader& grader) {
    const TemporaryFolder student, outside;
    ulp::write_file(outside / "secret", std::string(secret) + " xyzzy\n");
    fs::create_directory(outside / "bait");
    const fs::path file = student / (std::string(bad.frame.exercise) + bad.frame.extension);
    ulp::write_file(file, with(with(bad.program(), "@SECRET@", outside / "secret"), "@BAIT@", outside / "bait"));
    const std::size_t before = entries(grader.work_folder());
    const ExerciseResult result = grader.grade_file(exercise_by_name(bad.frame.exercise), file);
    const std::string all = console_text(result) + gradescope_json({result}) + junit_xml({result});
    INFO(bad.name, ":\n", all);
    CHECK(result.score() == 0);
    CHECK(all.find(secret) == std::string::npos);
    CHECK(entries(student.path()) == 1);
    CHECK(entries(outside.path()) == 2);
    CHECK(ulp::read_file(outside / "secret") == std::string(secret) + " xyzzy\n");
    // What stays in the work folder is the compiled adapter.
    CHECK(entries(grader.work_folder()) <= before + 5);
}

bool confined() {
    if (filter_available() && file_rules_available()) return true;
    std::cout << "skipped: no filter of system calls or no rules about files\n";
    return false;
}

/// The solution of an exercise ("find_nan.py": in Python) below what a student puts above it.
int score_below(const std::string& above, const fs::path& exercise, Grader& grader) {
    const TemporaryFolder student;
    const std::string extension = exercise.has_extension() ? ".py" : ".cpp";
    const std::string solution =
        ulp::read_file(fs::path(ULPLAB_SOLUTIONS) / exercise.stem() / ("solution" + extension));
    ulp::write_file(student / ("file" + extension), above + "\n" + solution);
    const ExerciseResult result =
        grader.grade_file(exercise_by_name(exercise.stem().string()), student / ("file" + extension));
    INFO(above, ": ", result.message);
    CHECK((result.score() > 0) == result.message.empty());
    return result.score();
}

void check_borrowings(bool all) {
    Grader grader(GradeOptions{.seed = 7, .without_filter = !filter_available()});
    for (const ulp::test::Borrowing& each : ulp::test::borrowings) {
        CAPTURE(std::string(each.above));
        if (all || each.quick) CHECK(score_below(each.above, each.exercise, grader) == 0);
    }
    // What the standard library has may stand there.
    CHECK(score_below("#include <vector>\n#include <numeric>\n#include <math.h>", "add_halves", grader) == 10);
    CHECK(score_below("import decimal, fractions, json, random, statistics, typing", "find_nan.py", grader) == 5);
}

void check_submissions(bool all) {
    if (!confined()) return;
    Grader grader(impatient());
    for (const BadSubmission& bad : ulp::test::bad_submissions) {
        if (all || bad.quick) check_earns_nothing(bad, grader);
    }
}

}  // namespace

TEST_CASE("a selection of bad submissions earns nothing") { check_submissions(false); }
TEST_CASE("every bad submission earns nothing" * doctest::skip()) { check_submissions(true); }
TEST_CASE("right programs that borrow from a package, a selection, earn nothing") { check_borrowings(false); }
TEST_CASE("every bad submission that borrows from a package earns nothing" * doctest::skip()) {
    check_borrowings(true);
}

TEST_CASE("shortcuts are refused by what the compiler made of them, and named") {
    if (!confined()) return;
    Grader grader(impatient());
    const std::pair<const char*, const char*> shortcuts[] = {{"_Float16 rounds", "__truncsfhf2"},
                                                             {"F16C intrinsics", "intrinsics"},
                                                             {"an instruction by its name", "uses assembler"},
                                                             {"__float128 adds", "tf"},
                                                             {"long double adds", "long double"},
                                                             {"double fuses", "integers alone"},
                                                             {"double adds halves", "integers alone"}};
    for (const auto& shortcut : shortcuts) {
        const char* const name = shortcut.first;
        const char* const says = shortcut.second;
        const auto* bad = std::find_if(std::begin(ulp::test::bad_submissions), std::end(ulp::test::bad_submissions),
                                       [&](const BadSubmission& each) { return std::string_view(each.name) == name; });
        REQUIRE(bad != std::end(ulp::test::bad_submissions));
        const TemporaryFolder student;
        ulp::write_file(student / "file.cpp", bad->program());
        const ExerciseResult result = grader.grade_file(exercise_by_name(bad->frame.exercise), student / "file.cpp");
        INFO(name, ": ", result.message);
        CHECK(result.outcome == Outcome::refused);
        CHECK(result.message.find(says) != std::string::npos);
    }
}
