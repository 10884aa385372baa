// Files that do not compile, loop, eat memory, crash, print, or try to read what is not theirs.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "experiments/course/grade_report.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/framework/files.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp::course;
using ulp::test::TemporaryFolder;
namespace fs = std::filesystem;

GradeOptions small_limits() {
    GradeOptions options{.public_only = true, .without_filter = !filter_available()};
    options.limits.cpu_seconds = 1;
    options.limits.wall_seconds = 20;
    options.limits.memory_bytes = 64 << 20;
    options.limits.printed_bytes = 100 << 10;
    return options;
}

/// decode_half with this as the function's body, after `before`.
ExerciseResult graded(const std::string& body, const std::string& before = "",
                      const GradeOptions& options = small_limits()) {
    const TemporaryFolder student;
    ulp::write_file(student / "decode_half.cpp", "#include \"exercise.hpp\"\n" + before +
                                                     "\nfloat value_of_half(std::uint16_t bits) {\n(void)bits;\n" +
                                                     body + "\n}\n");
    Grader grader(options);
    return grader.grade(exercise_by_name("decode_half"), student.path());
}

void check_stopped(const ExerciseResult& result, const std::string& sentence) {
    INFO(result.message);
    CHECK(result.outcome == Outcome::stopped);
    CHECK(result.score() == 0);
    CHECK(result.message.find(sentence) != std::string::npos);
}

}  // namespace

TEST_CASE("a file that does not compile, link or exist is told apart") {
    const ExerciseResult syntax = graded("return 0");
    CHECK(syntax.outcome == Outcome::does_not_compile);
    CHECK(syntax.message.find("decode_half.cpp:") == 0);
    CHECK(syntax.message.find("expected ';'") != std::string::npos);
    const std::string many = graded("a;\nb;\nc;\nd;\ne;\nf;").message;
    CHECK(std::count(many.begin(), many.end(), '\n') == 4);  // five of six
    const ExerciseResult missing = graded("return other();", "float other();");
    CHECK(missing.outcome == Outcome::does_not_link);
    CHECK(missing.message.find("undefined reference to") == 0);
    const ExerciseResult two_mains = graded("return 0;", "int main() {}");
    CHECK(two_mains.outcome == Outcome::does_not_link);
    CHECK(two_mains.message.find("multiple definition of") == 0);
    const TemporaryFolder empty;
    Grader grader(small_limits());
    CHECK(grader.grade(exercise_by_name("decode_half"), empty.path()).outcome == Outcome::no_file);
    for (const Exercise& exercise : exercises()) {  // Python where it may be, and nowhere else
        ulp::write_file(empty / std::string(exercise.name).append(".py"), "");
        CHECK((grader.grade(exercise, empty.path()).outcome != Outcome::no_file) == exercise.in_python);
    }
}

TEST_CASE("a program that fills megabytes of assembler text is refused before it is assembled") {
    const std::string numbers =
        "#define A .1, .1, .1, .1, .1, .1, .1, .1\n#define B A, A, A, A, A, A, A, A\n#define C B, B, B, B, B, B, B, B\n"
        "#define D C, C, C, C, C, C, C, C\n#define E D, D, D, D, D, D, D, D\n#define F E, E, E, E, E, E, E, E\n"
        "double numbers[] = {F, F, F};";
    const ExerciseResult large = graded("return 0;", numbers);
    CHECK(large.outcome == Outcome::does_not_compile);
    CHECK(large.message == "its program is too large");
}

TEST_CASE("a compiler that does not come to an end is stopped") {
    const ExerciseResult result = graded(
        "return deep<0>::value;", "template <int n> struct deep { static constexpr int value = deep<n + 1>::value; };");
    CHECK(result.outcome == Outcome::does_not_compile);
}

TEST_CASE("a program that loops or waits is stopped") {
    check_stopped(graded("for (volatile int i = 0;; i = i + 1) {}"), "used more than 1 s of processor time");
    GradeOptions impatient = small_limits();
    impatient.limits.wall_seconds = 1;
    check_stopped(graded("sleep(1000); return 0;", "#include <unistd.h>", impatient), "took more than 1 s");
}

TEST_CASE("a program that eats memory, overflows its stack or crashes is told apart") {
    check_stopped(
        graded("static std::vector<char> v; for (;;) v.resize(v.size() + 1000000, 'x');", "#include <vector>"),
        "exceeded the memory limit of 64 MiB");
    check_stopped(graded("volatile char big[10000]; big[0] = 1; return value_of_half(bits) + big[0];"),
                  "crashed: Segmentation fault");
    check_stopped(graded("int* volatile nothing = nullptr; return static_cast<float>(*nothing);"), "question 1 of 12");
    check_stopped(graded("throw std::runtime_error(\"no idea\");", "#include <stdexcept>"), "threw no idea");
    check_stopped(graded("puts(\"so far\"); fflush(stdout); _Exit(0);", "#include <cstdio>\n#include <cstdlib>"),
                  "ended by itself (exit code 0) (question 1 of 12); it printed:\n  | so far");
    check_stopped(graded("if (bits == 0x2E66) std::abort(); return 0;", "#include <cstdlib>"), "question 3 of 12");
    CHECK(parse_answers(std::string("\xFF\xFF\xFF\xFF\2\0\0\0\v\0\0\0", 12)).system_call == 0);  // cut off
}

TEST_CASE("a program that prints megabytes is stopped, one that prints a little is judged") {
    check_stopped(graded("for (;;) puts(\"more and more\");", "#include <cstdio>"), "printed more than 100 KiB");
    CHECK(graded("std::cout << bits << std::endl; return 0;", "#include <iostream>").outcome == Outcome::judged);
}

TEST_CASE("a program that opens files, starts processes or connects is stopped") {
    if (!filter_available()) {
        std::cout << "skipped: no filter of system calls\n";
        return;
    }
    check_stopped(graded("std::ifstream f(\"/etc/passwd\"); return f ? 1 : 0;", "#include <fstream>"),
                  "tried to open a file");
    // system() blocks signals, so nobody can tell what it was that it tried.
    check_stopped(graded("return static_cast<float>(std::system(\"ls\"));", "#include <cstdlib>"), "tried");
    check_stopped(graded("return static_cast<float>(fork());", "#include <unistd.h>"), "tried to start a process");
    check_stopped(graded("return static_cast<float>(socket(2, 1, 0));", "extern \"C\" int socket(int, int, int);"),
                  "tried to open a socket");
    check_stopped(
        graded("return static_cast<float>(kill(getppid(), SIGTERM));", "#include <signal.h>\n#include <unistd.h>"),
        "tried to");
    // Before main, too, where nobody catches it.
    check_stopped(graded("return 0;", "#include <fstream>\nstd::ofstream file(\"/tmp/ulplab-test-intruder\");"),
                  "tried what is not allowed here");
    CHECK_FALSE(fs::exists("/tmp/ulplab-test-intruder"));
}

TEST_CASE("a file that includes others than the exercise's, or is not a file, is refused") {
    const TemporaryFolder student;
    ulp::write_file(student / "secret.hpp", "inline float secret() { return 0; }\n");
    const std::string include = "#include \"" + (student / "secret.hpp").string() + "\"";
    const ExerciseResult included = graded("return 0;", include);
    CHECK(included.score() == 0);
    CHECK(included.outcome == (file_rules_available() ? Outcome::does_not_compile : Outcome::refused));
    for (const char* header : {"eigen3/Eigen/Core", "zlib.h", "sys/socket.h", "../include/fmt/core.h"}) {
        const ExerciseResult foreign = graded("return 0;", fmt::format("#include <{}>", header));
        INFO(header, ": ", foreign.message);
        CHECK(foreign.outcome == Outcome::refused);
        CHECK(foreign.message.find("; exercise.hpp and the standard library are allowed") != std::string::npos);
    }
    CHECK(graded("return 0;", "#include <bits/stdc++.h>\n#include <emmintrin.h>\n#include <stdio.h>").outcome ==
          Outcome::judged);
    ulp::write_file(student / "secret.txt", "the secret words\n");
    const ExerciseResult text = graded("return 0;", "#include \"" + (student / "secret.txt").string() + "\"");
    CHECK(text.outcome == Outcome::does_not_compile);
    CHECK(text.message.find("secret words") == std::string::npos);
    CHECK(graded("return 0;", "asm(\".incbin \\\"/etc/passwd\\\"\");").outcome == Outcome::refused);

    Grader grader(small_limits());
    const Exercise& exercise = exercise_by_name("decode_half");
    fs::create_symlink(fs::path(ULPLAB_SOLUTIONS) / "decode_half/solution.cpp", student / "decode_half.cpp");
    CHECK(grader.grade(exercise, student.path()).message == "it is a symbolic link; hand in the file itself");
    fs::remove(student / "decode_half.cpp");
    ulp::write_file(student / "decode_half.cpp", std::string((1 << 20) + 1, '\n'));
    CHECK(grader.grade(exercise, student.path()).message == "it is larger than 1 MiB");
    fs::remove(student / "decode_half.cpp");
    REQUIRE(mkfifo((student / "decode_half.cpp").c_str(), 0600) == 0);
    CHECK(grader.grade(exercise, student.path()).outcome == Outcome::refused);
}

TEST_CASE("without the filter, too, a program meets its limits and leaves nothing behind") {
    GradeOptions options = small_limits();
    options.without_filter = true;
    check_stopped(graded("for (volatile int i = 0;; i = i + 1) {}", "", options), "used more than 1 s");
    // What it leaves behind keeps the descriptors, until the time is over and the group ends.
    options.limits.wall_seconds = 3;
    check_stopped(
        graded("if (fork() == 0) for (;;) sleep(100); _Exit(0);", "#include <unistd.h>\n#include <cstdlib>", options),
        "took more than 3 s");
    check_stopped(graded("std::FILE* f = std::fopen(\"big\", \"w\"); for (;;) std::fputs(\"xxxx\", f), std::fflush(f);",
                         "#include <cstdio>", options),
                  "wrote a file");
}
