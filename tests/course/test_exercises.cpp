// Each exercise: its solution earns all points, its starter none, and each planted mistake is named.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>

#include "experiments/course/course_files.hpp"
#include "experiments/course/exercises/common.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/quantization/block_scaled.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp::course;
namespace fs = std::filesystem;

const fs::path folder = ULPLAB_EXERCISES;
const fs::path solutions = ULPLAB_SOLUTIONS;

void check_public_tests(const Exercise& exercise) {
    const auto tests = parse_public_tests(exercise, course_file(exercise, "public.txt"));
    CHECK(tests.size() >= 3);
    for (const PublicTest& test : tests) {
        INFO("public.txt, line ", test.line);
        CHECK(same_answer(exercise, test.expected, exercise.solve(test.question, "")));
    }
}

void check_hidden_tests(const Exercise& exercise) {
    const auto first = exercise.hidden(1);
    const auto again = exercise.hidden(1);
    const auto second = exercise.hidden(2);
    bool changes = false;
    for (std::size_t i = 0; i < first.size(); ++i) {
        CHECK(first[i].points > 0);
        CHECK(first[i].questions == again[i].questions);
        CHECK(first[i].questions.size() >= (first[i].name == "the defaults" ? 4U : 10U));
        for (const std::string_view id : first[i].catches) {
            INFO(first[i].name, " catches ", id);
            for (const auto* groups : {&first, &second}) {
                const Group& group = (*groups)[i];
                CHECK(std::any_of(group.questions.begin(), group.questions.end(), [&](const Words& question) {
                    return !is_right(exercise, question, exercise.solve(question, ""), exercise.solve(question, id),
                                     group.tolerance);
                }));
            }
        }
        changes = changes || first[i].questions != second[i].questions;
        // Where the reference goes another way than the mistaken programs, the two agree without a mistake.
        for (const Words& question : first[i].questions) {
            const bool agree = same_answer(exercise, exercise.solve(question, ""), exercise.solve(question, "none"));
            if (!agree) FAIL_CHECK(first[i].name << ": " << question_text(exercise, question));
        }
    }
    const bool exhaustive = exercise.name == "decode_half" || exercise.name == "level_table";
    CHECK(changes == !exhaustive);
}

/// The mistaken programs of mistakes.diff (its head says how they are written), by id.
std::map<std::string, std::string> mistaken_programs(const fs::path& exercise) {
    const std::string solution = "\n" + ulp::read_file(exercise / "solution.cpp");
    std::map<std::string, std::string> programs;
    std::string id, before = "\n", after = "\n";
    const auto apply = [&] {
        if (before != "\n") {
            std::string& program = programs.at(id);
            const auto at = program.find(before);
            INFO(exercise.string(), ", ", id, ":", before);
            REQUIRE(at != std::string::npos);
            CHECK(program.find(before, at + 1) == std::string::npos);
            program.replace(at, before.size(), after);
        }
        before = after = "\n";
    };
    std::istringstream lines(ulp::read_file(exercise / "mistakes.diff"));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("== ")) {
            apply();
            id = line.substr(3);
            CHECK(programs.emplace(id, solution).second);
        } else if (line == "@@") {
            apply();
        } else if (!line.starts_with('#')) {
            if (line[0] != '+') before += line.substr(1) + "\n";
            if (line[0] != '-') after += line.substr(1) + "\n";
        }
    }
    apply();
    return programs;
}

/// What a program earns that is right but for one mistake: all but the points of the ideas that catch it.
int points_with(const Exercise& exercise, std::string_view mistake) {
    int sum = 0;
    for (const Group& group : exercise.hidden(1)) sum += contains(group.catches, mistake) ? 0 : group.points;
    CHECK(sum < exercise.points());
    return sum;
}

void check_mistakes(const Exercise& exercise, Grader& grader) {
    const ulp::test::TemporaryFolder work;
    const auto planted = mistaken_programs(solutions / exercise.name);
    for (const auto& [name, program] : planted) {
        const std::string id = name;
        ulp::write_file(work / "mistaken.cpp", program);
        const ExerciseResult result = grader.grade_file(exercise, work / "mistaken.cpp");
        INFO(id, ": ", result.message, "\n", console_text(result));
        CHECK(result.outcome == Outcome::judged);
        CHECK_FALSE(result.full());
        const std::string feedback = console_text(result);
        CHECK(std::count(feedback.begin(), feedback.end(), '\n') <= 15);
        CHECK(result.score() == points_with(exercise, id));
        REQUIRE_FALSE(result.diagnoses.empty());
        CHECK(result.diagnoses[0].id == id);
        CHECK(result.diagnoses.size() == 1);
        CHECK(result.unexplained == 0);
        // Each group that it spoils says so, with a case that is a public test as it stands.
        for (const GroupResult& group : result.groups) {
            CHECK(group.diagnosis.has_value() == !group.passed());
            if (group.passed()) continue;
            const auto at = group.failure.find("for public.txt: ");
            REQUIRE(at != std::string::npos);
            const auto test = parse_public_tests(exercise, group.failure.substr(at + 16));
            REQUIRE(test.size() == 1);
            CHECK(same_answer(exercise, exercise.solve(test[0].question, ""), test[0].expected));
            CHECK_FALSE(same_answer(exercise, exercise.solve(test[0].question, id), test[0].expected));
        }
    }
    for (const Mistake& mistake : exercise.mistakes) CHECK(planted.contains(std::string(mistake.id)));
    CHECK(planted.size() == exercise.mistakes.size());
}

void check_right(const Exercise& exercise, Grader& grader, const char* file) {
    const ExerciseResult right = grader.grade_file(exercise, solutions / exercise.name / file);
    INFO(file, ": ", right.message, "\n", console_text(right));
    CHECK(right.full());
    CHECK(right.score() == exercise.points());
    CHECK(right.wrong == 0);
}
void check_starter(const Exercise& exercise, Grader& grader, const char* file) {
    const ExerciseResult starter = grader.grade_file(exercise, folder / exercise.name / file);
    INFO(file, ": ", starter.message, "\n", console_text(starter));
    CHECK(starter.outcome == Outcome::judged);
    CHECK(starter.score() == 0);
    const std::string feedback = console_text(starter);
    CHECK(std::count(feedback.begin(), feedback.end(), '\n') <= 15);
    CHECK(starter.diagnoses.empty());
}

void check_exercise(const char* name) {
    const Exercise& exercise = exercise_by_name(name);
    check_public_tests(exercise);
    check_hidden_tests(exercise);
    Grader grader(GradeOptions{.seed = 20261121, .without_filter = !filter_available()});
    check_right(exercise, grader, "solution.cpp");
    check_starter(exercise, grader, "starter.cpp");
    if (exercise.in_python) {
        check_right(exercise, grader, "solution.py");
        check_starter(exercise, grader, "starter.py");
    }
    check_mistakes(exercise, grader);
}

}  // namespace

TEST_CASE("exercise decode_half") { check_exercise("decode_half"); }
TEST_CASE("exercise round_to_half") { check_exercise("round_to_half"); }
TEST_CASE("exercise add_halves") { check_exercise("add_halves"); }
TEST_CASE("exercise fuse_halves") { check_exercise("fuse_halves"); }
TEST_CASE("exercise stochastic_rounding") { check_exercise("stochastic_rounding"); }
TEST_CASE("exercise sum_without_swamping") { check_exercise("sum_without_swamping"); }
TEST_CASE("exercise tensor_core_block") { check_exercise("tensor_core_block"); }
TEST_CASE("exercise training_step") { check_exercise("training_step"); }
TEST_CASE("exercise grad_scaler") { check_exercise("grad_scaler"); }
TEST_CASE("exercise level_table") { check_exercise("level_table"); }
TEST_CASE("exercise exponent_histogram") { check_exercise("exponent_histogram"); }
TEST_CASE("exercise find_nan") { check_exercise("find_nan"); }
TEST_CASE("exercise mxfp8_quantizer") { check_exercise("mxfp8_quantizer"); }
TEST_CASE("exercise nvfp4_quantizer") { check_exercise("nvfp4_quantizer"); }
TEST_CASE("exercise online_softmax") { check_exercise("online_softmax"); }
TEST_CASE("exercise batch_invariant_sum") { check_exercise("batch_invariant_sum"); }
TEST_CASE("exercise mixed_precision_training") { check_exercise("mixed_precision_training"); }

TEST_CASE("the quantisers' functions together give what the library's whole quantisers give") {
    ulp::Random random(1, 1);
    std::vector<float> x;
    for (int i = 0; i < 96; ++i) x.push_back(std::bit_cast<float>(random_single(random, -12, 4)));
    const auto words = [](Words head, std::span<const float> values) {
        for (const float value : values) head.push_back(std::bit_cast<Word>(value));
        return head;
    };
    const Exercise& mx = exercise_by_name("mxfp8_quantizer");
    std::vector<std::uint8_t> scales(3), elements(96);
    ulp::quantize_mx(ulp::formats::e4m3, x, scales, elements);
    for (std::size_t b = 0; b < 3; ++b) {
        const auto block = std::span(x).subspan(32 * b, 32);
        const Word scale = mx.solve(words({0xFFFFFFFF}, block), "")[0];
        CHECK(scale == scales[b]);
        const Words codes = mx.solve(words({scale}, block), "");
        CHECK(std::equal(codes.begin() + 1, codes.end(), elements.begin() + static_cast<std::ptrdiff_t>(32 * b)));
    }
    const Exercise& nv = exercise_by_name("nvfp4_quantizer");
    scales.resize(6);
    const float tensor = ulp::quantize_nvfp4(x, scales, elements);
    const Word tensor_word = nv.solve(words({0, 0, 0}, x), "")[0];
    CHECK(tensor_word == std::bit_cast<Word>(tensor));
    float largest = 0;
    for (const float value : x) largest = std::max(largest, std::fabs(value));
    for (std::size_t b = 0; b < 6; ++b) {
        const auto block = std::span(x).subspan(16 * b, 16);
        const Word scale = nv.solve(words({1, std::bit_cast<Word>(largest), 0}, block), "")[1];
        CHECK(scale == scales[b]);
        const Words codes = nv.solve(words({2, tensor_word, scale}, block), "");
        CHECK(std::equal(codes.begin() + 2, codes.end(), elements.begin() + static_cast<std::ptrdiff_t>(16 * b)));
    }
}

namespace {

/// Text with its line breaks as single spaces.
std::string flowing(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

/// Ideas and what each known mistake earns, as tests/experiments/course/solutions/rubric.md has them.
std::string rubric() {
    std::string text =
        "# Rubric\n\nWhat a program earns that is right but for one known mistake. A test writes this page anew and "
        "compares.\n";
    for (const Exercise& exercise : exercises()) {
        text += fmt::format("\n## {}: {} points\n\n| idea | points |\n|---|---|\n", exercise.name, exercise.points());
        for (const Group& group : exercise.hidden(1)) text += fmt::format("| {} | {} |\n", group.name, group.points);
        text += "\n| mistake: the program | earns |\n|---|---|\n";
        for (const Mistake& mistake : exercise.mistakes) {
            text += fmt::format("| `{}`: {} | {} |\n", mistake.id, mistake.says, points_with(exercise, mistake.id));
        }
    }
    return text;
}

}  // namespace

TEST_CASE("statements, tables and the rubric tell the points that the grader gives") {
    const std::string readme = ulp::read_file(folder / "README.md");
    const std::string teaching = ulp::read_file(folder.parent_path() / "lessons/teaching.md");
    std::size_t mistakes = 0;
    for (const Exercise& exercise : exercises()) {
        mistakes += exercise.mistakes.size();
        CHECK(readme.find(fmt::format("| [{0}]({0}/statement.md) | {1} | {2} |\n", exercise.name, exercise.title,
                                      exercise.points())) != std::string::npos);
        const std::string statement = flowing(ulp::read_file(folder / exercise.name / "statement.md"));
        for (const Group& group : exercise.hidden(1)) {
            INFO(exercise.name, ": ", group.name);
            CHECK(statement.find(fmt::format("{} {}", group.name, group.points)) != std::string::npos);
        }
    }
    CHECK(flowing(teaching).find(fmt::format("names {} such misconceptions", mistakes)) != std::string::npos);
    // Of the plan's rows: minutes in class, at home, exercises due, points.
    std::istringstream lines(teaching);
    int in_class = 0, at_home = 0, points = 0, due_exercises = 0;
    for (std::string line; std::getline(lines, line) && !line.starts_with("| | all |");) {
        std::vector<std::string> cells;
        std::istringstream row(line);
        for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
        if (cells.size() < 8 || cells[3].find_first_of("0123456789") == std::string::npos) continue;
        in_class += std::stoi(cells[3]);
        at_home += std::stoi(cells[4]);
        int due = 0;
        for (const Exercise& exercise : exercises()) {
            const std::string list = cells[5] + ",";
            if (list.find(" " + std::string(exercise.name) + ",") == std::string::npos &&
                list.find(" " + std::string(exercise.name) + " ") == std::string::npos) {
                continue;
            }
            due += exercise.points();
            ++due_exercises;
        }
        CHECK((due == 0 ? cells[6].find_first_not_of(' ') == std::string::npos : std::stoi(cells[6]) == due));
        points += due;
    }
    CHECK(points == 150);
    CHECK(due_exercises == 17);
    CHECK(teaching.find(fmt::format("| | all | {} | {} | | {} | |", in_class, at_home, points)) != std::string::npos);

    const fs::path written = fs::temp_directory_path() / "rubric.md";
    const bool current = ulp::read_file(solutions / "rubric.md") == rubric();
    if (!current) ulp::write_file(written, rubric());
    INFO("copy ", written.string(), " to ", (solutions / "rubric.md").string());
    CHECK(current);
}

TEST_CASE("no exercise is without a test here, and the course has 150 points") {
    int points = 0;
    for (const Exercise& exercise : exercises()) points += exercise.points();
    CHECK(points == 150);
    CHECK(exercises().size() == 17);
}
