// The students' tree, the results' files, the diagnosis of several mistakes, recordings, and the program.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "experiments/course/course_files.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/course/submissions.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/errors.hpp"
#include "tests/experiments/temporary_folder.hpp"
#include "tests/experiments/ulplab_program.hpp"
#include "tests/shared_data.hpp"

namespace {

using namespace ulp::course;
using ulp::test::TemporaryFolder;
using ulp::test::ulplab;
namespace fs = std::filesystem;

}  // namespace

TEST_CASE("the students' tree has everything but solutions and mistakes, and replaces nothing") {
    const TemporaryFolder out;
    const std::string tree = (out / "tree").string();
    REQUIRE(ulplab({"course", "export", tree}).exit_code == 0);
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(tree)) {
        if (!entry.is_regular_file()) continue;
        files += fs::relative(entry.path(), tree).string().starts_with("pages/") ? 0 : 1;
        const std::string text = ulp::read_file(entry.path());
        CHECK(text.find(": a solution.") == std::string::npos);
        CHECK(text.find("# Planted mistakes") == std::string::npos);
    }
    // Lessons, playground and statements as pages, which the README names.
    for (const char* page : {"index.html", "lessons/01_what_a_float_is.html", "playground/index.html",
                             "playground/softfloat.js", "exercises/decode_half/statement.html"}) {
        CAPTURE(std::string(page));
        CHECK(fs::exists(fs::path(tree) / "pages" / page));
    }
    CHECK(ulp::read_file(out / "tree/README.md").find("pages/index.html") != std::string::npos);
    // The guide to `ulplab search` and the page that searches are two files; a guide is listed with a sentence, not its
    // code.
    CHECK(ulp::read_file(out / "tree/pages/search.html").find("ulplab search format") != std::string::npos);
    CHECK(ulp::read_file(out / "tree/pages/find.html").find("type=\"search\"") != std::string::npos);
    const std::string guides = ulp::read_file(out / "tree/pages/guides.html");
    CHECK(guides.find("Architecture</a><br>The rooms of the project") != std::string::npos);
    CHECK(guides.find("ulplab inspect dumps") == std::string::npos);
    std::size_t in_python = 0;
    for (const Exercise& exercise : exercises()) in_python += exercise.in_python ? 1 : 0;
    CHECK(in_python == 10);
    CHECK(files == 4 + 5 * exercises().size() + 4 * in_python);
    CHECK(ulp::read_file(out / "tree/README.md").find("(decode_half/statement.md) | Decode all 65,536 halves | 5 |") !=
          std::string::npos);
    const ulp::Finished again = ulplab({"course", "export", tree});
    CHECK(again.exit_code == 2);
    CHECK(again.output.find("exists already") != std::string::npos);
}

TEST_CASE("the teacher's archive has every solution, every mistake and every group of tests") {
    const TemporaryFolder out;
    REQUIRE(ulplab({"course", "teacher", (out / "all").string()}).exit_code == 0);
    const std::string readme = ulp::read_file(out / "all/README.md");
    for (const Exercise& exercise : exercises()) {
        const std::string name(exercise.name);
        CHECK(ulp::read_file(out / "all/solutions" / name / "solution.cpp") ==
              ulp::read_file(fs::path(ULPLAB_SOLUTIONS) / name / "solution.cpp"));
        for (const Mistake& mistake : exercise.mistakes) {
            CHECK(readme.find("| `" + std::string(mistake.id) + "` |") != std::string::npos);
        }
        for (const Group& group : exercise.hidden(1)) {
            CHECK(readme.find("| " + name + " | " + group.name + " | ") != std::string::npos);
        }
    }
    CHECK(readme.find('@') == std::string::npos);
    // What it gives as an example is read as it is.
    fs::create_directories(out / "class/Ada");
    for (const char* file : {"class.json", "roster.csv"}) fs::copy_file(out / "all" / file, out / "class" / file);
    CHECK(read_class(out / "class", out / "work").rules.exercises.size() == 2);
    CHECK(ulplab({"course", "teacher", (out / "all").string()}).exit_code == 2);
}

TEST_CASE("the public tests need a compiler or Python, and nothing else of the project") {
    const TemporaryFolder out;
    const fs::path tree = out / "tree";
    write_course_files(tree, students_files());
    const auto tried = [&](const std::string& command, const char* exercise) {
        return ulp::run_program({"sh", "-c", command}, tree / exercise);
    };
    const auto solve = [&](const char* exercise, const char* extension) {
        fs::copy_file(fs::path(ULPLAB_SOLUTIONS) / exercise / (std::string("solution") + extension),
                      tree / exercise / (std::string(exercise) + extension), fs::copy_options::overwrite_existing);
    };
    const std::string build = "g++ -std=c++20 -Wall -Wextra -Werror *.cpp -o try && ./try";
    const ulp::Finished before = tried(build, "decode_half");
    INFO(before.output);
    CHECK(before.exit_code == 1);
    CHECK(before.output.find("expected 3F800000 (1), got 00000000 (0)") != std::string::npos);
    CHECK(before.output.find("\n1 of 12\n") != std::string::npos);  // the starter says 0, which is right once
    for (const Exercise& exercise : exercises()) {
        const std::string name(exercise.name);
        if (name != "decode_half" && name != "grad_scaler") continue;
        solve(name.c_str(), ".cpp");
        const ulp::Finished after = tried(build, name.c_str());
        INFO(after.output);
        CHECK(after.exit_code == 0);
        const auto count = parse_public_tests(exercise, course_file(exercise, "public.txt")).size();
        CHECK(after.output == std::to_string(count) + " of " + std::to_string(count) + "\n");
    }
    ulp::write_file(tree / "decode_half/decode_half.cpp",
                    "#include <iostream>\n#include \"exercise.hpp\"\nfloat value_of_half(std::uint16_t) { std::cerr << "
                    "\"seen\"; throw 1; }\n");
    CHECK(tried(build, "decode_half").output.find("seen") != std::string::npos);
    for (const Exercise& exercise : exercises()) {
        if (!exercise.in_python) continue;
        const std::string name(exercise.name);
        const std::string run = "/usr/bin/python3 -S ../public_tests.py";
        CHECK(tried(run, name.c_str()).exit_code == 1);
        solve(name.c_str(), ".py");
        const ulp::Finished after = tried(run, name.c_str());
        INFO(name, ": ", after.output);
        CHECK(after.exit_code == 0);
    }
}

TEST_CASE("a student's way: export, write, try, hand in, be graded") {
    if (!filter_available()) {
        std::cout << "skipped: no filter of system calls\n";
        return;
    }
    const TemporaryFolder out;
    const std::string tree = (out / "tree").string();
    const std::string results = (out / "results").string();
    REQUIRE(ulplab({"course", "export", tree}).exit_code == 0);
    const ulp::Finished before = ulplab({"grade", "find_nan", "--student", tree, "--public", "--out", results});
    CHECK(before.exit_code == 1);
    fs::copy_file(fs::path(ULPLAB_SOLUTIONS) / "find_nan/solution.cpp", fs::path(tree) / "find_nan/find_nan.cpp",
                  fs::copy_options::overwrite_existing);
    std::string mistaken = ulp::read_file(fs::path(ULPLAB_SOLUTIONS) / "level_table/solution.cpp");
    const std::string second = "{Cast::fp16, false, Choice::yes, Choice::yes";
    mistaken.replace(mistaken.find(second), second.size(), "{Cast::fp16, false, Choice::none, Choice::yes");
    ulp::write_file(fs::path(tree) / "level_table.cpp", mistaken);
    ulp::write_file(fs::path(tree) / "grad_scaler.cpp", "int main( {");
    const ulp::Finished graded = ulplab(
        {"grade", "grad_scaler", "level_table", "find_nan", "--student", tree, "--seed", "99", "--out", results});
    INFO(graded.output);
    CHECK(graded.exit_code == 1);
    CHECK(graded.output.find("does not keep batch normalisation in fp32 at O2") != std::string::npos);
    CHECK(graded.output.find("keep_batchnorm_fp32: expected 2, got 0") != std::string::npos);
    const auto json = nlohmann::json::parse(ulp::read_file(out / "results/results.json"));
    std::map<std::string, double> scores;
    int compiler_messages = 0;
    for (const auto& test : json.at("tests")) {
        scores[std::string(test.at("name"))] = test.at("score");
        CHECK(test.at("score") <= test.at("max_score"));
        CHECK((test.at("status") == "passed") == (test.at("output") == ""));
        compiler_messages += std::string(test.at("output")).find("does not compile") != std::string::npos ? 1 : 0;
    }
    CHECK(scores.at("find_nan: overflows") == 1);
    CHECK(scores.at("level_table: the defaults") == 0);
    CHECK(scores.at("grad_scaler: unscaling") == 0);
    CHECK(compiler_messages == 1);
    const std::string xml = ulp::read_file(out / "results/junit.xml");
    CHECK(xml.find("<testsuite name=\"find_nan\" tests=\"6\" failures=\"0\" errors=\"0\">") != std::string::npos);
    CHECK(xml.find("does not compile: grad_scaler.cpp:1:") != std::string::npos);
}

TEST_CASE("a Python exercise is graded without a compiler, whose lack is told with the remedy") {
    if (!filter_available()) return;
    const TemporaryFolder out;
    write_course_files(out / "tree", students_files());
    const auto graded = [&](const std::string& exercise) {
        return ulp::run_program(
            {"sh", "-c", "CXX=no-such-compiler " ULPLAB_PROGRAM " grade " + exercise + " --student tree"}, out.path());
    };
    CHECK(graded("decode_half").output.find("cannot start no-such-compiler") != std::string::npos);
    CHECK(graded("decode_half").output.find("name another compiler by CXX") != std::string::npos);
    fs::copy_file(fs::path(ULPLAB_SOLUTIONS) / "find_nan/solution.py", out / "tree/find_nan/find_nan.py",
                  fs::copy_options::overwrite_existing);  // the starter in C++ beside it does not count
    CHECK(graded("find_nan").output.find("5 of 5") != std::string::npos);
}

TEST_CASE("wrong usage of grade and course is told") {
    const TemporaryFolder out;
    const auto refused = [&](std::vector<std::string> arguments, int code, const std::string& sentence) {
        const ulp::Finished finished = ulplab(std::move(arguments));
        INFO(finished.output);
        CHECK(finished.exit_code == code);
        CHECK(finished.output.find(sentence) != std::string::npos);
    };
    refused({"grade"}, 2, "say --student DIR for one student's files, or --class DIR");
    refused({"grade", "decode", "--student", out.path().string()}, 2, "there is no exercise \"decode\"; choose from");
    refused({"grade", "--student", (out / "nobody").string()}, 3, "there is no folder");
    refused({"grade", "--student", out.path().string(), "--limit", "memory=1"}, 2, "memory");
    refused({"course"}, 2, "A subcommand is required");
    refused({"course", "export"}, 2, "DIR is required");
    refused({"course", "export", "/proc/nothing/tree"}, 3, "cannot make");
    const ulp::Finished list = ulplab({"course", "list"});
    CHECK(list.output.find("all                    150 points") != std::string::npos);
}

TEST_CASE("two mistakes in one program are both named, and what no mistake explains is counted") {
    const Exercise& exercise = exercise_by_name("round_to_half");
    std::vector<Words> questions, expected, answers;
    for (const Group& group : exercise.hidden(3)) {
        for (const Words& question : group.questions) {
            questions.push_back(question);
            expected.push_back(exercise.solve(question, ""));
            const bool subnormal = (question[0] & 0x7FFFFFFF) < 0x38800000;
            answers.push_back(exercise.solve(question, subnormal ? "flushed_subnormals" : "ties_away"));
        }
    }
    answers[0] = {0x1234};
    std::size_t unexplained = 0;
    const auto found = diagnose(exercise, questions, expected, answers, unexplained);
    REQUIRE(found.size() == 2);
    CHECK(found[0].id == "flushed_subnormals");
    CHECK(found[1].id == "ties_away");
    CHECK(unexplained == 1);

    // A mistake that explains half of what is wrong is named, one that explains a third of what it would spoil is not.
    const std::size_t i = found[1].questions[0];
    const Words q = questions[i], right = expected[i], bad = {0x1234};
    ExerciseResult result;
    judge(exercise, {{q, q}, {right, right}, {0, 0}, {{"two", 1, 0, 0, 2}}}, {answers[i], bad}, result);
    CHECK(result.diagnoses.size() == 1);
    CHECK(diagnose(exercise, {q, q, q}, {right, right, right}, {answers[i], bad, bad}, unexplained).empty());
}

TEST_CASE("a wrong case is made small: a missing reset shows in two steps of three gradients") {
    const TemporaryFolder student;
    std::string program = ulp::read_file(fs::path(ULPLAB_SOLUTIONS) / "grad_scaler/solution.cpp");
    const std::string reset = "        scaler.tracker = 0;\n";
    program.replace(program.find(reset), reset.size(), "");
    ulp::write_file(student / "grad_scaler.cpp", program);
    Grader grader(GradeOptions{.without_filter = !filter_available()});
    const ExerciseResult result = grader.grade(exercise_by_name("grad_scaler"), student.path());
    CHECK(result.score() == 7);
    for (const GroupResult& group : result.groups) {
        if (group.passed()) continue;
        INFO(group.failure);
        CHECK(group.failure.size() < 400);
        CHECK(group.failure.find("step 2: tracker: expected 0, got 1") != std::string::npos);
        CHECK(group.failure.find("step 3") == std::string::npos);
    }
}

TEST_CASE("recordings whose rows are one block of the unit are tests, longer ones are none") {
    const Exercise& exercise = exercise_by_name("tensor_core_block");
    const std::string one(32, '0');
    for (const int width : {4, 8}) {
        const TemporaryFolder recordings;
        fs::create_directories(recordings / "V100/fp16");
        std::string row = "3F800000";
        for (int i = 1; i < width; ++i) row += " 40000000";
        for (const char* operand : {"a", "b"}) {
            ulp::write_file(recordings / fmt::format("V100/fp16/{}_V100_fp16.txt", operand), row + "\n" + row + "\n");
        }
        for (const char* side : {"c", "d"}) {
            ulp::write_file(recordings / fmt::format("V100/fp16/{}_V100_fp32.txt", side), one + "\n" + one + "\n");
        }
        const auto tests = recorded_tests(exercise, recordings.path());
        REQUIRE(tests.size() == (width == 4 ? 2 : 0));  // a V100 adds four products at once
        if (width == 8) continue;
        CHECK(tests[0].question.size() == 3 + 2 * 4);
        CHECK(tests[0].question[0] == 4);
        CHECK(tests[0].question[3] == 0x3C00);
        CHECK(tests[0].question[4] == 0x4000);
        CHECK(tests[0].expected == Words{0});
    }
    CHECK(recorded_tests(exercise_by_name("find_nan"), "no folder").empty());
}

TEST_CASE("recordings of GPUs judge the Tensor Core block") {
    const auto recordings = ulp::test::shared_folder("recordings");
    if (!recordings) return;
    const Exercise& exercise = exercise_by_name("tensor_core_block");
    const auto tests = recorded_tests(exercise, *recordings);
    CHECK(tests.size() == 20000);  // V100, A100, Ada, H100
    Grader grader(GradeOptions{.recordings = *recordings, .without_filter = !filter_available()});
    CHECK(grader.grade_file(exercise, fs::path(ULPLAB_SOLUTIONS) / "tensor_core_block/solution.cpp").full());
    const ExerciseResult wrong =
        grader.grade_file(exercise, fs::path(ULPLAB_EXERCISES) / "tensor_core_block/starter.cpp");
    CHECK_FALSE(wrong.groups.back().passed());
    CHECK(wrong.groups.back().name == "recordings of GPUs");
}

TEST_CASE("public tests that are no tests are refused with their line") {
    const Exercise& exercise = exercise_by_name("decode_half");
    CHECK(parse_public_tests(exercise, "# nothing\n3C00 -> 3F800000\n").size() == 1);
    for (const char* text : {"3C00\n", "3C0 -> 3F800000\n", "3C00 -> 3F8\n", "3C00*0 -> 3F800000\n", "x -> 0\n"}) {
        CHECK_THROWS_AS(parse_public_tests(exercise, text), ulp::DataError);
    }
    const Exercise& steps = exercise_by_name("grad_scaler");
    CHECK(letter_at(steps.question, 3) == 'i');
    CHECK(letter_at(steps.question, 9) == 's');
    CHECK(letter_at(steps.answer, 6) == 'i');
    CHECK(letter_at(steps.answer, 11) == 'i');
}
