#include "experiments/course/course_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <system_error>

#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {

namespace fs = std::filesystem;
namespace {

std::string_view embedded(const std::string& name) {
    for (const EmbeddedFile& file : embedded_course) {
        if (file.name == name) return file.content;
    }
    throw std::logic_error("no file docs/exercises/" + name);
}

/// The list of exercises for the students' README.
std::string table() {
    std::string text = "| exercise | what | points | |\n|---|---|---|---|\n";
    for (const Exercise& exercise : exercises()) {
        text += fmt::format("| [{0}]({0}/statement.md) | {1} | {2} | {3} |\n", exercise.name, exercise.title,
                            exercise.points(), exercise.in_python ? "also in Python" : "");
    }
    return text;
}

/// The adapter with a main program around it that reads public.txt.
std::string public_test_program(const Exercise& exercise) {
    std::string adapter(course_file(exercise, "adapter.cpp"));
    const std::string driver = "#include \"driver.hpp\"\n";
    adapter.erase(adapter.find(driver), driver.size());
    return fmt::format(
        "// The public tests of {}: ../public_tests.hpp says how to run them.\n#define QUESTION \"{}\"\n#define ANSWER "
        "\"{}\"\n#include \"../public_tests.hpp\"\n\n{}",
        exercise.name, exercise.question, exercise.answer, adapter);
}

}  // namespace

std::string_view course_file(const Exercise& exercise, std::string_view file) {
    return embedded(std::string(exercise.name) + "/" + std::string(file));
}

std::string_view shared_course_file(std::string_view file) {
    return embedded((fs::path("support") / file).lexically_normal().string());
}

std::vector<CourseFile> students_files() {
    std::string readme(shared_course_file("student_readme.md"));
    const std::string mark = "@exercises@\n";
    readme.replace(readme.find(mark), mark.size(), table());
    std::vector<CourseFile> files{{"README.md", readme}};
    for (const char* file : {"public_tests.hpp", "public_tests.py", "words.py"}) {
        files.push_back({file, std::string(shared_course_file(file))});
    }
    for (const Exercise& exercise : exercises()) {
        const std::string name(exercise.name);
        const auto add = [&](const std::string& file, std::string content) {
            files.push_back({name + "/" + file, std::move(content)});
        };
        for (const char* file : {"statement.md", "exercise.hpp", "public.txt"}) {
            add(file, std::string(course_file(exercise, file)));
        }
        add(name + ".cpp", std::string(course_file(exercise, "starter.cpp")));
        add("test.cpp", public_test_program(exercise));
        if (!exercise.in_python) continue;
        for (const char* file : {"exercise.py", "adapter.py"}) add(file, std::string(course_file(exercise, file)));
        add(name + ".py", std::string(course_file(exercise, "starter.py")));
        add("notation.py", fmt::format("QUESTION = \"{}\"\nANSWER = \"{}\"\n", exercise.question, exercise.answer));
    }
    return files;
}

std::vector<CourseFile> teachers_files() {
    constexpr const char* place = "tests/experiments/course/solutions";
    if (!has_shared_file(place)) {
        throw DataError(
            "the solutions are in no package, so that students do not get them; run the ulplab that was built "
            "from the project's sources, beside them");
    }
    std::string groups, mistakes;
    for (const Exercise& exercise : exercises()) {
        for (const Group& group : exercise.hidden(1)) {
            groups +=
                fmt::format("| {} | {} | {} | {} |\n", exercise.name, group.name, group.points, group.questions.size());
        }
        for (const Mistake& mistake : exercise.mistakes) {
            mistakes += fmt::format("| {} | `{}` | {} |\n", exercise.name, mistake.id, mistake.says);
        }
    }
    std::string readme(shared_course_file("teacher_readme.md"));
    for (const auto& [mark, rows] : {std::pair{"@groups@\n", groups}, {"@mistakes@\n", mistakes}}) {
        readme.replace(readme.find(mark), std::string_view(mark).size(), rows);
    }
    std::vector<CourseFile> files{{"README.md", readme}};
    for (const char* file : {"class.json", "roster.csv"}) {
        files.push_back({file, std::string(shared_course_file(std::string("teacher_") + file))});
    }
    const std::vector<CourseFile> solutions = files_below(shared_file(place), "solutions");
    files.insert(files.end(), solutions.begin(), solutions.end());
    return files;
}

std::vector<CourseFile> files_below(const fs::path& folder, const std::string& name) {
    std::vector<CourseFile> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        files.push_back(
            {(fs::path(name) / fs::relative(entry.path(), folder)).generic_string(), read_file(entry.path())});
    }
    std::ranges::sort(files, {}, &CourseFile::name);
    return files;
}

void write_course_files(const fs::path& folder, const std::vector<CourseFile>& files) {
    std::error_code error;
    const fs::path place = fs::absolute(folder).lexically_normal();
    const fs::path whole = place.has_filename() ? place : place.parent_path();
    if (fs::exists(whole, error) && !(fs::is_directory(whole) && fs::is_empty(whole))) {
        throw UsageError(fmt::format("{} exists already; name a folder that does not", whole.string()));
    }
    fs::create_directories(whole.parent_path(), error);
    if (error) throw DataError(fmt::format("cannot make {}: {}", whole.parent_path().string(), error.message()));
    StagedFolder staged(whole.parent_path(), whole.filename().string());
    for (const CourseFile& file : files) {
        fs::create_directories((staged.path() / file.name).parent_path(), error);
        write_file(staged.path() / file.name, file.content);
        if (file.executable) fs::permissions(staged.path() / file.name, fs::perms(0755), error);
    }
    staged.publish();
}

namespace fs = std::filesystem;
namespace {

/// Starts `read line; rm -rf folder` on a pipe whose other end is this process's alone.
pid_t start_remover(const fs::path& folder, int& lifeline) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
    const std::string name = folder.string();
    const pid_t process = fork();
    if (process == 0) {
        setsid();  // what ends the grader's group does not end it
        dup2(ends[0], STDIN_FILENO);
        // A pipe that the grader's caller reads to its end must not stay open for it.
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", "trap '' INT TERM HUP; cd /; read -r line; rm -rf -- \"$1\"", "sh", name.c_str(),
              static_cast<char*>(nullptr));
        _exit(127);
    }
    close(ends[0]);
    lifeline = ends[1];
    return process;
}

}  // namespace

WorkFolder::WorkFolder() {
    std::string name = (fs::temp_directory_path() / "ulplab-grade-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw DataError("cannot make a work folder in " + fs::temp_directory_path().string() + "; set TMPDIR");
    }
    path_ = fs::canonical(name);
    remover_ = start_remover(path_, lifeline_);
}

WorkFolder::~WorkFolder() {
    if (lifeline_ >= 0) close(lifeline_);
    if (remover_ > 0) waitpid(remover_, nullptr, 0);
    std::error_code ignored;
    fs::remove_all(path_, ignored);  // where no remover could be started
}

}  // namespace ulp::course
