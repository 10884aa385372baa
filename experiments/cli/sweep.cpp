// `ulplab sweep FILE`: a grid of settings, in shards if wanted, and one table of all results.
#include "experiments/framework/sweep.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "engine/files/whole_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/progress.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace fs = std::filesystem;
namespace {

struct SweepOptions {
    std::string file;
    fs::path out = "out";
    std::string shard = "1/1";
    bool force = false;
    bool list = false;
    bool merge = false;
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

ExitCode sweep(const SweepOptions& options) {
    const Shard shard = parse_shard(options.shard);
    const std::vector<SweepCase> cases = sweep_cases(read_file(options.file), options.file);
    const std::vector<SweepCase> part = cases_of(cases, shard);
    if (options.list) {
        for (const SweepCase& sweep_case : part) fmt::print("{}\n", describe(sweep_case));
        return ExitCode::good;
    }
    const std::string name = fs::path(options.file).stem().string();
    const fs::path folder = options.out / "sweeps" / name;
    make_writable_folder(folder);
    const std::size_t failed = options.merge ? 0 : run_cases(part, folder, options.force);
    const bool whole = write_tables(cases, folder, options.out / "sweeps" / name);
    if (options.merge && !whole) {
        throw DataError(fmt::format("{} is not complete; run `ulplab sweep {}` first", folder.string(), options.file));
    }
    if (failed > 0) fmt::print("{} claims failed\n", failed);
    return failed == 0 ? ExitCode::good : ExitCode::claim_failed;
}

Action declare_sweep(OptionParser& app) {
    const auto options = std::make_shared<SweepOptions>();
    app.add_option("FILE", options->file, "the grid, as JSON").required();
    app.add_option("--out", options->out, "folder for the results: DIR/sweeps/<name of FILE>...")
        .capture_default_str()
        .type_name("DIR");
    app.add_option("--shard", options->shard, "run only every n-th case, from the i-th on")
        .capture_default_str()
        .type_name("i/n");
    app.add_flag("--force", options->force, "run again what is complete already");
    const DeclaredOption list = app.add_flag("--list", options->list, "print the cases and run none");
    app.add_flag("--merge", options->merge, "run nothing, only write the tables").excludes(list);
    app.footer(
        "FILE is a JSON object; all combinations of its lists are run:\n"
        "  {\"experiment\": \"swamping\", \"mode\": \"quick\", \"seeds\": [1, 2, 3],\n"
        "   \"backends\": [\"soft:v100\", \"soft:h100\"], \"settings\": {\"samples\": [1000, 10000]}}\n"
        "A case that is complete is not run again. When all are, the points of all cases are in one CSV, and their\n"
        "claims in another. Shards share the folder: docs/sweeps.md shows GNU parallel, Slurm and MPI.");
    return [options] { return sweep(*options); };
}

}  // namespace

Command sweep_command() {
    return {"sweep", "run an experiment over a grid of settings and write one table", declare_sweep};
}

}  // namespace ulp
