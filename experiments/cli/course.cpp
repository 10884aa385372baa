// `ulplab course list`, `ulplab course export DIR` and `ulplab course teacher DIR`.
#include <cstdio>
#include <system_error>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/site.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

struct CourseOptions {
    std::string folder;
    bool gradescope = false;
    std::vector<std::string> names;
    std::string grader;
    std::uint64_t seed = 1;
    std::optional<OptionParser> exporting, teaching;
};

ExitCode list() {
    int points = 0;
    for (const course::Exercise& exercise : course::exercises()) {
        fmt::print("{:<22} {:>3} points   {}{}\n", exercise.name, exercise.points(), exercise.title,
                   exercise.in_python ? " (also in Python)" : "");
        points += exercise.points();
    }
    fmt::print("{:<22} {:>3} points\n", "all", points);
    return ExitCode::good;
}

/// ulplab-grade beside this program.
std::string grader_beside_this() {
    std::error_code error;
    return (fs::read_symlink("/proc/self/exe", error).parent_path() / "ulplab-grade").string();
}

/// The students' tree with lessons, playground and statements as pages, to be opened in a browser.
std::vector<course::CourseFile> students_tree() {
    std::vector<course::CourseFile> files = course::students_files();
    const course::WorkFolder work;
    const fs::path root = shared_file("docs/lessons").parent_path().parent_path();
    write_site(work.path(), root, "out", {}, reference_tables());
    const std::vector<course::CourseFile> pages = course::files_below(work.path(), "pages");
    files.insert(files.end(), pages.begin(), pages.end());
    return files;
}

ExitCode run_course(const CourseOptions& options) {
    if (options.teaching->parsed()) {
        course::write_course_files(options.folder, course::teachers_files());
        fmt::print("for teachers alone: {}\n", options.folder);
        return ExitCode::good;
    }
    if (!options.exporting->parsed()) return list();
    if (!options.gradescope) {
        course::write_course_files(options.folder, students_tree());
        fmt::print("students' tree: {}\n", options.folder);
        return ExitCode::good;
    }
    const std::string grader = options.grader.empty() ? grader_beside_this() : options.grader;
    course::write_course_files(options.folder,
                               course::gradescope_files(students_tree(), {grader, options.seed, options.names}));
    fmt::print(
        "for the students: {0}/students.zip\nfor Gradescope: {0}/autograder.zip\nas a container: {0}/Dockerfile\n",
        options.folder);
    return ExitCode::good;
}

Action declare_course(OptionParser& app) {
    const auto options = std::make_shared<CourseOptions>();
    app.require_subcommand();
    app.add_subcommand("list", "the exercises and their points");
    options->exporting = app.add_subcommand(
        "export", "write the students' tree: lessons, playground, statements, starters, public tests");
    options->exporting->add_option("DIR", options->folder, "a folder that does not exist yet").required();
    options->exporting->add_flag("--gradescope", options->gradescope,
                                 "students.zip, autograder.zip for Gradescope, and a Dockerfile instead");
    options->exporting->add_option("EXERCISE", options->names, "exercises that the autograder grades, all by default");
    options->exporting->add_option("--seed", options->seed, "seed of the autograder's hidden tests")
        .capture_default_str();
    options->exporting->add_option("--grader", options->grader,
                                   "statically linked grader, by default ulplab-grade beside this program");
    options->teaching =
        app.add_subcommand("teacher", "write solutions, mistaken programs and the rubric, for teachers alone");
    options->teaching->add_option("DIR", options->folder, "a folder that does not exist yet").required();
    return [options] { return run_course(*options); };
}

}  // namespace

Command course_command() { return {"course", "the exercises: list them, or write the students' tree", declare_course}; }

}  // namespace ulp
