// A class of students, partial credit, the autograder in a root of its own, and what is left after a kill.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/files/zip.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp::course;
using ulp::test::TemporaryFolder;
namespace fs = std::filesystem;

void hand_in(const fs::path& student, const char* exercise, const char* file) {
    fs::create_directories(student);
    const bool solution = std::string_view(file).starts_with("solution");
    fs::copy_file(fs::path(solution ? ULPLAB_SOLUTIONS : ULPLAB_EXERCISES) / exercise / file,
                  student / (std::string(exercise) + fs::path(file).extension().string()));
}

int score_of(const char* exercise, const std::string& program) {
    const TemporaryFolder student;
    ulp::write_file(student / (std::string(exercise) + ".cpp"), program);
    Grader grader(GradeOptions{.without_filter = !filter_available()});
    const ExerciseResult result = grader.grade(exercise_by_name(exercise), student.path());
    INFO(result.message);
    CHECK(result.outcome == Outcome::judged);
    return result.score();
}

bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 100; ++i) {
        if (holds()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
}

}  // namespace

TEST_CASE("a sum in double earns the points for which its order and width suffice, and no more") {
    CHECK(score_of("sum_without_swamping", R"(#include "exercise.hpp"
float sum(const float* x, int n) {
    double s = 0;
    for (int i = n; i-- > 0;) s += static_cast<double>(x[i]);
    return static_cast<float>(s);
})") == 3);
}

TEST_CASE("other right orders of operations earn all points") {
    std::string scaler = ulp::read_file(fs::path(ULPLAB_SOLUTIONS) / "grad_scaler/solution.cpp");
    const std::string product = "gradients[i] *= inverse;";
    scaler.replace(scaler.find(product), product.size(), "(void)inverse, gradients[i] /= scaler.scale;");
    CHECK(score_of("grad_scaler", scaler) == 10);
    std::string step = ulp::read_file(fs::path(ULPLAB_SOLUTIONS) / "training_step/solution.cpp");
    const std::string factor = "for (float& g : gradients) g *= factor;";
    step.replace(step.find(factor), factor.size(),
                 "(void)factor; for (float& g : gradients) g = g / norm * settings.limit;");
    CHECK(score_of("training_step", step) == 10);
}

TEST_CASE("a class is graded into one table, and resumes where it was stopped") {
    const TemporaryFolder work;
    hand_in(work / "all/Ada", "find_nan", "solution.py");
    hand_in(work / "all/=Bob, jr", "find_nan", "solution.cpp");
    hand_in(work / "all/=Bob, jr", "level_table", "starter.py");
    fs::create_directories(work / "all/Carl");
    const Exercise& find_nan = exercise_by_name("find_nan");
    const Exercise& levels = exercise_by_name("level_table");
    ClassOptions options{.grading = {.without_filter = !filter_available()},
                         .exercises = {&find_nan, &levels},
                         .submissions = work / "all",
                         .out = work / "out",
                         .jobs = 2};
    int graded = 0;
    const auto count = [&graded](const StudentGrade& grade) { graded += grade.resumed ? 0 : 1; };
    grade_class(options, count);
    CHECK(graded == 3);
    const std::string table = "student,find_nan,level_table,total\n\"'=Bob, jr\",5,0,5\nAda,5,0,5\nCarl,0,0,0\n";
    CHECK(ulp::read_file(work / "out/grades.csv") == table);
    CHECK(ulp::read_file(work / "out/Carl/grade.txt").find("there is no find_nan.cpp") != std::string::npos);
    CHECK(nlohmann::json::parse(ulp::read_file(work / "out/Ada/results.json")).at("tests").size() == 10);
    // Carl hands in late: he alone is graded, and the table is the one of a run from the start.
    hand_in(work / "all/Carl", "find_nan", "solution.cpp");
    graded = 0;
    grade_class(options, count);
    CHECK(graded == 1);
    const std::string late = ulp::read_file(work / "out/grades.csv");
    CHECK(late.find("Carl,5,0,5") != std::string::npos);
    options.out = work / "again";
    options.jobs = 1;
    grade_class(options);
    CHECK(ulp::read_file(work / "again/grades.csv") == late);
    options.grading.seed = 2;
    graded = 0;
    grade_class(options, count);
    CHECK(graded == 3);
}

TEST_CASE("a killed grader leaves no folder behind") {
    const TemporaryFolder work;
    fs::create_directory(work / "tmp");
    hand_in(work / "student", "find_nan", "solution.cpp");
    const pid_t process = fork();
    if (process == 0) {
        setenv("TMPDIR", (work / "tmp").c_str(), 1);
        execl(ULPLAB_PROGRAM, "ulplab", "grade", "--student", (work / "student").c_str(), "--out",
              (work / "out").c_str(), nullptr);
        _exit(127);
    }
    CHECK(eventually([&] { return !fs::is_empty(work / "tmp"); }));
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    CHECK(eventually([&] { return fs::is_empty(work / "tmp"); }));
}

TEST_CASE("the archives are what unzip reads, and say what may be run") {
    const std::string zip = ulp::zip_archive({{"a/run", "#!/bin/sh\n", true}, {"b", std::string(5000, 'b'), false}});
    CHECK(zip.size() < 500);
    const TemporaryFolder work;
    ulp::write_file(work / "file.zip", zip);
    const auto listed = ulp::run_program({"/usr/bin/python3", "-m", "zipfile", "-l", "file.zip"}, work.path());
    INFO(listed.output);
    CHECK(listed.exit_code == 0);
    CHECK(listed.output.find("a/run") != std::string::npos);
    REQUIRE(ulp::run_program({"/usr/bin/python3", "-m", "zipfile", "-e", "file.zip", "out"}, work.path()).exit_code ==
            0);
    CHECK(ulp::read_file(work / "out/b") == std::string(5000, 'b'));
}

TEST_CASE("the autograder runs in a root that has a compiler and nothing else") {
    const fs::path grader = fs::path(ULPLAB_PROGRAM).parent_path() / "ulplab-grade";
    const bool sandbox = ulp::run_program({"sh", "-c", "bwrap --ro-bind / / true"}).exit_code == 0;
    if (!sandbox || !fs::exists(grader) || !filter_available()) {
        std::cout << "skipped: no bubblewrap, or no statically linked grader\n";
        return;
    }
    const TemporaryFolder work;
    write_course_files(work / "for",
                       gradescope_files({}, {.program = grader, .seed = 5, .names = {"find_nan", "level_table"}}));
    // Gradescope unzips, runs setup.sh (here the packages are there) and then run_autograder.
    const fs::path root = work / "autograder";
    fs::create_directories(root / "source");
    const std::string unzip =
        "/usr/bin/python3 -m zipfile -e for/autograder.zip autograder/source && chmod +x "
        "autograder/source/run_autograder autograder/source/ulplab-grade && bash -n "
        "autograder/source/setup.sh";
    REQUIRE(ulp::run_program({"sh", "-c", unzip}, work.path()).exit_code == 0);
    hand_in(root / "submission", "find_nan", "solution.cpp");
    hand_in(root / "submission", "level_table", "solution.py");
    const ulp::Finished run = ulp::run_program({"bwrap",
                                                "--unshare-all",
                                                "--clearenv",
                                                "--setenv",
                                                "PATH",
                                                "/usr/bin:/bin",
                                                "--ro-bind",
                                                "/usr",
                                                "/usr",
                                                "--symlink",
                                                "usr/bin",
                                                "/bin",
                                                "--symlink",
                                                "usr/lib",
                                                "/lib",
                                                "--symlink",
                                                "usr/lib64",
                                                "/lib64",
                                                "--ro-bind-try",
                                                "/etc/alternatives",
                                                "/etc/alternatives",
                                                "--proc",
                                                "/proc",
                                                "--dev",
                                                "/dev",
                                                "--tmpfs",
                                                "/tmp",
                                                "--bind",
                                                root.string(),
                                                "/autograder",
                                                "--chdir",
                                                "/",
                                                "bash",
                                                "/autograder/source/run_autograder"});
    INFO(run.output);
    CHECK(run.exit_code == 0);
    const auto results = nlohmann::json::parse(ulp::read_file(root / "results/results.json"));
    double score = 0;
    for (const auto& test : results.at("tests")) score += test.at("score").get<double>();
    CHECK(score == 10);
}
