#include "experiments/course/course_files.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>

#include "experiments/program/embedded.hpp"
#include "experiments/program/files.hpp"
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
    std::string text = "| exercise | what | points |\n|---|---|---|\n";
    for (const Exercise& exercise : exercises()) {
        text +=
            fmt::format("| [{0}]({0}/statement.md) | {1} | {2} |\n", exercise.name, exercise.title, exercise.points());
    }
    return text;
}

}  // namespace

std::string_view course_file(const Exercise& exercise, std::string_view file) {
    return embedded(std::string(exercise.name) + "/" + std::string(file));
}

std::string_view shared_course_file(std::string_view file) { return embedded("support/" + std::string(file)); }

void export_course(const fs::path& folder) {
    std::error_code error;
    const fs::path place = fs::absolute(folder).lexically_normal();
    const fs::path whole = place.has_filename() ? place : place.parent_path();
    if (fs::exists(whole, error) && !(fs::is_directory(whole) && fs::is_empty(whole))) {
        throw UsageError(fmt::format("{} exists already; name a folder that does not", whole.string()));
    }
    fs::create_directories(whole.parent_path(), error);
    if (error) throw DataError(fmt::format("cannot make {}: {}", whole.parent_path().string(), error.message()));
    StagedFolder staged(whole.parent_path(), whole.filename().string());
    std::string readme(shared_course_file("student_readme.md"));
    const std::string mark = "@exercises@\n";
    readme.replace(readme.find(mark), mark.size(), table());
    write_file(staged.path() / "README.md", readme);
    write_file(staged.path() / "Makefile", shared_course_file("student_makefile"));
    for (const Exercise& exercise : exercises()) {
        const fs::path to = staged.path() / exercise.name;
        fs::create_directory(to, error);
        for (const char* file : {"statement.md", "exercise.hpp", "public.txt"}) {
            write_file(to / file, course_file(exercise, file));
        }
        write_file(to / (std::string(exercise.name) + ".cpp"), course_file(exercise, "starter.cpp"));
    }
    staged.publish();
}

}  // namespace ulp::course
