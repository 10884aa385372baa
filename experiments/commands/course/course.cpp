// `ulplab course list` and `ulplab course export DIR`.
#include <fmt/core.h>

#include <memory>
#include <optional>

#include "experiments/commands/command.hpp"
#include "experiments/course/course_files.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct Options {
    std::string folder;
    std::optional<OptionParser> exporting;
};

ExitCode list() {
    int points = 0;
    for (const course::Exercise& exercise : course::exercises()) {
        fmt::print("{:<22} {:>3} points   {}\n", exercise.name, exercise.points(), exercise.title);
        points += exercise.points();
    }
    fmt::print("{:<22} {:>3} points\n", "all", points);
    return ExitCode::good;
}

ExitCode run(const Options& options) {
    if (!options.exporting->parsed()) return list();
    course::export_course(options.folder);
    fmt::print("students' tree: {}\n", options.folder);
    return ExitCode::good;
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    app.require_subcommand();
    app.add_subcommand("list", "the exercises and their points");
    options->exporting = app.add_subcommand("export", "write the students' tree: statements, starters, public tests");
    options->exporting->add_option("DIR", options->folder, "a folder that does not exist yet").required();
    return [options] { return run(*options); };
}

}  // namespace

Command course_command() { return {"course", "the exercises: list them, or write the students' tree", declare}; }

}  // namespace ulp
