// `ulplab grade [EXERCISE...] --student DIR` or `--class DIR`: builds, runs and judges students' files.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "engine/files/whole_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/settings.hpp"

namespace ulp {
namespace {

struct GradeCommandOptions {
    std::vector<std::string> names;
    std::string student, students, out = "out/grade", recordings;
    int jobs = 0;
    std::uint64_t seed = 1;
    bool public_only = false;
    bool without_filter = false;
    std::vector<std::string> limits;  // KEY=VALUE
};

std::vector<Setting> limits_of_grading() {
    return {integer_setting("cpu", "processor time, s", 5, 5, 1, 3600),
            real_setting("wall", "time, s", 60, 60, 0.1, 3600),
            integer_setting("memory", "memory, MiB", 512, 512, 16, 65536)};
}

std::vector<const course::Exercise*> chosen(const std::vector<std::string>& names) {
    std::vector<const course::Exercise*> list;
    for (const std::string& name : names) list.push_back(&course::exercise_by_name(name));
    if (names.empty()) {
        for (const course::Exercise& exercise : course::exercises()) list.push_back(&exercise);
    }
    return list;
}

void require_folder(const std::string& folder, const char* what) {
    if (std::filesystem::is_directory(folder)) return;
    throw DataError(fmt::format("there is no folder {}; {}", folder, what));
}

course::GradeOptions grading_of(const GradeCommandOptions& options) {
    course::GradeOptions how{.seed = options.seed,
                             .public_only = options.public_only,
                             .recordings = options.recordings,
                             .compiler = course::compiler_from_environment(),
                             .python = course::python_from_environment(),
                             .without_filter = options.without_filter};
    Settings limits(limits_of_grading(), RunSize::quick);
    for (const std::string& limit : options.limits) limits.set(limit);
    how.limits.cpu_seconds = static_cast<int>(limits.integer("cpu"));
    how.limits.wall_seconds = limits.real("wall");
    how.limits.memory_bytes = static_cast<std::uint64_t>(limits.integer("memory")) << 20;
    return how;
}

void warn_of_missing_confinement(const GradeCommandOptions& options) {
    if (options.without_filter) {
        fmt::print(stderr, "warning: students' programs and the compiler are not confined: they can do what you can\n");
    } else if (!course::file_rules_available()) {
        fmt::print(stderr,
                   "warning: this kernel has no Landlock: the compiler and Python programs can read what you can; "
                   "grade in a container that holds nothing secret\n");
    }
}

ExitCode grade_all_students(const GradeCommandOptions& options, const std::vector<const course::Exercise*>& exercises) {
    require_folder(options.students,
                   "--class names the folder of a class: a folder per student, or what Canvas or Gradescope downloads");
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const course::ClassOptions all{
        .grading = grading_of(options),
        .exercises = options.names.empty() ? std::vector<const course::Exercise*>() : exercises,
        .submissions = options.students,
        .out = options.out,
        .jobs = options.jobs > 0 ? options.jobs : cores};
    const course::GradedClass graded = course::grade_class(all, [](const course::StudentGrade& grade) {
        fmt::print("{:<22} {:>3} of {}{}\n", shown(grade.student), grade.total, grade.points,
                   grade.resumed ? "  (as before)" : "");
        for (const std::string& note : grade.notes) fmt::print("  {}\n", note);
        std::fflush(stdout);
    });
    for (const std::string& note : graded.handed_in.notes) fmt::print("{}\n", note);
    const std::filesystem::path out = options.out;
    fmt::print("{} students: {}{}\n", graded.grades.size(), (out / "grades.csv").string(),
               std::filesystem::exists(out / "class.html")
                   ? ", and what they misunderstood: " + (out / "class.html").string()
                   : "");
    return ExitCode::good;
}

ExitCode grade_student(const GradeCommandOptions& options, const std::vector<const course::Exercise*>& exercises) {
    require_folder(options.student, "--student names the folder of a student's files");
    make_writable_folder(options.out);
    course::Grader grader(grading_of(options));
    const course::Submission submission = course::read_submission(options.student, grader.work_folder() / "files");
    std::vector<course::ExerciseResult> results;
    int score = 0;
    int points = 0;
    bool full = true;
    for (const course::Exercise* exercise : exercises) {
        const auto file = submission.files.find(exercise->name);
        results.push_back(file == submission.files.end() ? grader.grade(*exercise, grader.work_folder() / "nothing")
                                                         : grader.grade_file(*exercise, file->second));
        fmt::print("{}", course::console_text(results.back()));
        std::fflush(stdout);
        score += results.back().score();
        points += results.back().points();
        full = full && results.back().full();
    }
    for (const std::string& note : submission.notes) fmt::print("note: {}\n", note);
    fmt::print("{:<22} {:>3} of {}\n", "all", score, points);
    const std::filesystem::path out = options.out;
    replace_whole_file(out / "results.json",
                       course::gradescope_json(results, course::Visibility::all, submission.notes));
    replace_whole_file(out / "junit.xml", course::junit_xml(results));
    return full ? ExitCode::good : ExitCode::claim_failed;
}

ExitCode grade(const GradeCommandOptions& options) {
    const auto exercises = chosen(options.names);
    if (options.student.empty() == options.students.empty()) {
        throw UsageError("say --student DIR for one student's files, or --class DIR for those of a class");
    }
    warn_of_missing_confinement(options);
    return options.students.empty() ? grade_student(options, exercises) : grade_all_students(options, exercises);
}

Action declare_grade(OptionParser& app) {
    const auto options = std::make_shared<GradeCommandOptions>();
    app.add_option("EXERCISE", options->names, "exercises (see `ulplab course list`), all by default");
    app.add_option("--student", options->student, "folder with one student's <exercise>.cpp or .py files");
    app.add_option("--class", options->students,
                   "folder of a class: a folder or archive per student, or the download of Canvas or Gradescope; with "
                   "class.json and roster.csv, if any; writes tables and a page, and resumes where it was stopped");
    app.add_option("--jobs", options->jobs, "students graded side by side with --class, by default one per core")
        .range(0, 1024);
    app.add_option("--seed", options->seed, "seed of the hidden tests").capture_default_str();
    app.add_flag("--public", options->public_only, "the public tests alone; they bring no points");
    app.add_option("--recordings", options->recordings,
                   "folder of recordings of GPUs in the published layout: tensor_core_block is tried on them too");
    app.add_option("--out", options->out,
                   "folder for results.json (Gradescope) and junit.xml, with --class of each student")
        .capture_default_str();
    app.add_option("--limit", options->limits, "what a student's program may take; may be repeated")
        .repeated()
        .type_name("KEY=VALUE");
    app.add_flag("--without-filter", options->without_filter,
                 "run compilers and students' programs unconfined: they can do what you can");
    app.footer("Limits, for --limit KEY=VALUE:\n" + describe(limits_of_grading()) +
               "Students' programs run without files, processes and network; the compiler sees the system's folders "
               "and its own.\n"
               "The compiler is that of CXX, or g++; the Python interpreter that of PYTHON, or the system's.\n"
               "Exit code 1 where a test failed.");
    add_expansion_option(app);
    return [options] { return grade(*options); };
}

}  // namespace

Command grade_command() {
    return {"grade", "build, run and judge students' solutions of the exercises", declare_grade};
}

}  // namespace ulp
