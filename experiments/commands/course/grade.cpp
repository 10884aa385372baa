// `ulplab grade [EXERCISE...] --student DIR`: builds, runs and judges students' files.
#include <fmt/core.h>

#include <cstdio>
#include <memory>

#include "engine/files/whole_file.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/program/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct Options {
    std::vector<std::string> names;
    std::string student, out = "out/grade", recordings;
    std::uint64_t seed = 1;
    bool public_only = false;
    bool without_filter = false;
    int cpu_seconds = 5;
    double wall_seconds = 60;
    std::uint64_t memory_mib = 512;
};

std::vector<const course::Exercise*> chosen(const std::vector<std::string>& names) {
    std::vector<const course::Exercise*> list;
    for (const std::string& name : names) list.push_back(&course::exercise_by_name(name));
    if (names.empty()) {
        for (const course::Exercise& exercise : course::exercises()) list.push_back(&exercise);
    }
    return list;
}

ExitCode grade(const Options& options) {
    const auto exercises = chosen(options.names);
    if (!std::filesystem::is_directory(options.student)) {
        throw DataError("there is no folder " + options.student + "; --student names the folder of a student's files");
    }
    make_writable_folder(options.out);
    course::GradeOptions how{.seed = options.seed,
                             .public_only = options.public_only,
                             .recordings = options.recordings,
                             .compiler = course::compiler_from_environment(),
                             .without_filter = options.without_filter};
    how.limits.cpu_seconds = options.cpu_seconds;
    how.limits.wall_seconds = options.wall_seconds;
    how.limits.memory_bytes = options.memory_mib << 20;
    course::Grader grader(how);
    std::vector<course::ExerciseResult> results;
    int score = 0;
    int points = 0;
    bool full = true;
    for (const course::Exercise* exercise : exercises) {
        results.push_back(grader.grade(*exercise, options.student));
        fmt::print("{}", course::console_text(results.back()));
        std::fflush(stdout);
        score += results.back().score();
        points += results.back().points();
        full = full && results.back().full();
    }
    fmt::print("{:<22} {:>3} of {}\n", "all", score, points);
    const std::filesystem::path out = options.out;
    replace_whole_file(out / "results.json", course::gradescope_json(results));
    replace_whole_file(out / "junit.xml", course::junit_xml(results));
    return full ? ExitCode::good : ExitCode::claim_failed;
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("EXERCISE", options->names, "exercises (see `ulplab course list`), all by default");
    app.add_option("--student", options->student, "folder with the student's <exercise>.cpp files").required();
    app.add_option("--seed", options->seed, "seed of the hidden tests").capture_default_str();
    app.add_flag("--public", options->public_only, "the public tests alone; they bring no points");
    app.add_option("--recordings", options->recordings,
                   "folder of recordings of GPUs in the published layout: tensor_core_block is tried on them too");
    app.add_option("--out", options->out, "folder for results.json (Gradescope) and junit.xml").capture_default_str();
    app.add_option("--cpu", options->cpu_seconds, "processor time that a student's program may take, s")
        .range(1, 3600)
        .capture_default_str();
    app.add_option("--wall", options->wall_seconds, "time that it may take, s")
        .range(0.1, 3600.0)
        .capture_default_str();
    app.add_option("--memory", options->memory_mib, "memory that it may take, MiB")
        .range(16, 65536)
        .capture_default_str();
    app.add_flag("--without-filter", options->without_filter,
                 "run students' programs without the filter of system calls: they can do what you can");
    app.footer(
        "Students' programs run without files, processes and network. The compiler is that of CXX, or g++.\n"
        "Exit code 1 where a test failed.");
    return [options] { return grade(*options); };
}

}  // namespace

Command grade_command() { return {"grade", "build, run and judge students' solutions of the exercises", declare}; }

}  // namespace ulp
