// `ulplab run NAME...`: runs experiments; `ulplab run --grid FILE`: one experiment for a grid of settings, in shards if
// wanted, and one table of all results.
#include <nlohmann/json.hpp>

#include "engine/files/whole_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/long_work.hpp"
#include "experiments/framework/runner.hpp"
#include "experiments/framework/sweep.hpp"
#include "experiments/framework/values.hpp"

namespace ulp {

// `ulplab list [NAME...]`: the experiments and their settings.

namespace {

struct ListOptions {
    std::vector<std::string> names;
    bool json = false;
};

nlohmann::ordered_json settings_json(const Experiment& experiment) {
    auto list = nlohmann::ordered_json::array();
    for (const Setting& setting : experiment.settings) {
        list.push_back({{"name", setting.name},
                        {"help", setting.help},
                        {"smoke", to_text(setting.at(RunSize::smoke))},
                        {"quick", to_text(setting.quick)},
                        {"full", to_text(setting.full)},
                        {"published", to_text(setting.at(RunSize::published))}});
    }
    return list;
}

void print_json(const std::vector<const Experiment*>& chosen) {
    auto list = nlohmann::ordered_json::array();
    for (const Experiment* experiment : chosen) {
        list.push_back({{"name", experiment->name},
                        {"title", experiment->title},
                        {"question", experiment->question},
                        {"chapter", chapter_name(experiment->place.chapter)},
                        {"origin", experiment->effect ? origin_text(*experiment->effect) : ""},
                        {"settings", settings_json(*experiment)}});
    }
    fmt::print("{}\n", list.dump(2));
}

ExitCode list(const ListOptions& options) {
    std::vector<const Experiment*> chosen;
    for (const std::string& name : options.names) chosen.push_back(&experiment_by_name(name));
    if (options.names.empty()) {
        for (const Experiment& experiment : experiments()) chosen.push_back(&experiment);
    }
    if (options.json) {
        print_json(chosen);
        return ExitCode::good;
    }
    for (const Experiment* experiment : chosen) {
        fmt::print("{:<20} {}\n", experiment->name, experiment->question);
        if (options.names.empty()) continue;
        if (experiment->effect) fmt::print("{}\n", origin_text(*experiment->effect));
        fmt::print("{}", describe(experiment->settings));
    }
    return ExitCode::good;
}

Action declare_list(OptionParser& app) {
    const auto options = std::make_shared<ListOptions>();
    app.add_option("NAME", options->names, "show the settings of these experiments");
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return list(*options); };
}

}  // namespace

std::string experiments_table() {
    std::vector<std::vector<std::string>> rows;
    for (const Experiment& experiment : experiments()) {
        rows.push_back({fmt::format("`{}`", experiment.name), experiment.question});
    }
    return markdown_table({"experiment", "question"}, rows);
}

Command list_command() { return {"list", "the experiments, or the settings of those named", declare_list}; }

namespace fs = std::filesystem;
namespace {

struct GridOptions {
    std::string file;
    std::string shard = "1/1";
    bool list = false;
    bool merge = false;
};

struct RunCommandOptions {
    std::vector<std::string> names;
    RunOptions run;
    GridOptions grid;
};

std::string describe(const SweepCase& sweep_case) {
    std::string text = fmt::format("{} seed={}", sweep_case.folder, sweep_case.request.seed);
    if (!sweep_case.request.backend.empty()) text += " backend=" + sweep_case.request.backend;
    for (const auto& [name, value] : sweep_case.request.settings.values()) text += ' ' + name + '=' + to_text(value);
    return text;
}

/// How many claims failed.
std::size_t run_cases(const std::vector<SweepCase>& cases, const fs::path& folder, bool force) {
    Progress progress(cases.size());
    std::size_t failed = 0;
    std::size_t skipped = 0;
    for (const SweepCase& sweep_case : cases) {
        progress.next(sweep_case.folder);
        const Finding finding = run_single(sweep_case.request, folder, sweep_case.folder,
                                           {.force = force, .figures = false}, [&](double f) { progress.update(f); });
        skipped += finding.skipped ? 1 : 0;
        for (const Claim& claim : finding.claims) failed += claim.verdict == Verdict::failed ? 1 : 0;
    }
    progress.clear();
    fmt::print("{} cases run, {} complete already\n", cases.size() - skipped, skipped);
    return failed;
}

/// Both tables, if all cases are complete; else says how many are not. Gives whether they are.
bool write_tables(const std::vector<SweepCase>& cases, const fs::path& folder, const fs::path& stem) {
    const auto missing = std::count_if(cases.begin(), cases.end(), [&](const SweepCase& sweep_case) {
        return !is_complete(folder / sweep_case.folder, sweep_case.request);
    });
    if (missing > 0) {
        fmt::print("{} of {} cases are still to be run; the table follows when they are\n", missing, cases.size());
        return false;
    }
    replace_whole_file(stem.string() + ".csv", sweep_points_csv(cases, folder));
    replace_whole_file(stem.string() + "_claims.csv", sweep_claims_csv(cases, folder));
    fmt::print("points: {0}.csv\nclaims: {0}_claims.csv\n", stem.string());
    return true;
}

ExitCode run_grid(const GridOptions& options, const fs::path& out, bool force) {
    const Shard shard = parse_shard(options.shard);
    const std::vector<SweepCase> cases = sweep_cases(read_file(options.file), options.file);
    const std::vector<SweepCase> part = cases_of(cases, shard);
    if (options.list) {
        for (const SweepCase& sweep_case : part) fmt::print("{}\n", describe(sweep_case));
        return ExitCode::good;
    }
    const std::string name = fs::path(options.file).stem().string();
    const fs::path folder = out / "sweeps" / name;
    make_writable_folder(folder);
    const std::size_t failed = options.merge ? 0 : run_cases(part, folder, force);
    const bool whole = write_tables(cases, folder, out / "sweeps" / name);
    if (options.merge && !whole) {
        throw DataError(
            fmt::format("{} is not complete; run `ulplab run --grid {}` first", folder.string(), options.file));
    }
    if (failed > 0) fmt::print("{} claims failed\n", failed);
    return failed == 0 ? ExitCode::good : ExitCode::claim_failed;
}

/// Throws UsageError for what the grid says itself.
void require_grid_alone(const RunCommandOptions& options) {
    const RunOptions& run = options.run;
    const bool more = !options.names.empty() || run.seed != 1 || run.size() != RunSize::quick ||
                      !run.assignments.empty() || !run.backend.empty() || !run.mnist.empty() || !run.text.empty() ||
                      run.json;
    if (!more) return;
    throw UsageError(
        "--grid FILE names the experiment, its seeds, units and settings; beside it stand --out, --force, --shard, "
        "--list and --merge alone");
}

ExitCode run(const RunCommandOptions& options) {
    if (!options.grid.file.empty()) {
        require_grid_alone(options);
        return run_grid(options.grid, options.run.out, options.run.force);
    }
    if (options.grid.list || options.grid.merge || options.grid.shard != "1/1") {
        throw UsageError("--shard, --list and --merge are of a grid; give --grid FILE, too");
    }
    if (options.names.empty()) {
        throw UsageError("run needs the NAME of an experiment (`ulplab list` has them), all, or --grid FILE");
    }
    return run_experiments(chosen_experiments(options.names), options.run);
}

Action declare_run(OptionParser& app) {
    const auto options = std::make_shared<RunCommandOptions>();
    GridOptions& grid = options->grid;
    app.add_option("NAME", options->names, "experiments, or all; see `ulplab list`");
    declare_run_options(app, options->run);
    app.add_option("--grid", grid.file, "all combinations of the settings in a file, as JSON, and one table of them")
        .type_name("FILE");
    app.add_option("--shard", grid.shard, "of a grid: only every n-th case, from the i-th on")
        .capture_default_str()
        .type_name("i/n");
    const DeclaredOption list = app.add_flag("--list", grid.list, "of a grid: print the cases and run none");
    app.add_flag("--merge", grid.merge, "of a grid: run nothing, only write the tables").excludes(list);
    app.footer(
        "The FILE of --grid is a JSON object; all combinations of its lists are run:\n"
        "  {\"experiment\": \"swamping\", \"mode\": \"quick\", \"seeds\": [1, 2, 3],\n"
        "   \"backends\": [\"soft:v100\", \"soft:h100\"], \"settings\": {\"samples\": [1000, 10000]}}\n"
        "The results lie in DIR/sweeps/<name of FILE>. A case that is complete is not run again. When all are, the\n"
        "points of all cases are in one CSV, and their claims in another. Shards share the folder: docs/sweeps.md\n"
        "shows GNU parallel, Slurm and MPI.");
    return [options] { return run(*options); };
}

}  // namespace

Command run_command() { return {"run", "run experiments into the output folder", declare_run}; }

}  // namespace ulp
