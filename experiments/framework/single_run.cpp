#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "experiments/framework/figures.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/product_ledger.hpp"
#include "experiments/framework/record.hpp"
#include "experiments/framework/run_parts.hpp"
#include "experiments/framework/runner.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace fs = std::filesystem;
namespace {

/// Draws the figures of a published result; what goes wrong does not touch the result.
void draw(const fs::path& parent, const std::string& name, Finding& finding) {
    try {
        finding.note = draw_figures(parent, name);
    } catch (const DataError& error) {
        finding.undrawn = true;
        finding.note = fmt::format(
            "the result is complete, but a figure is missing: {}; when that is corrected: ulplab report --draw {} "
            "--out {}",
            error.what(), name, parent.string());
    }
}

/// The finding that the folder holds; figures that were left out, for want of gnuplot, are drawn now.
Finding stored_finding(const fs::path& parent, const std::string& name, const RunPolicy& policy) {
    const fs::path place = parent / name;
    StoredResult stored = read_result(parent, name);
    Finding finding{
        std::move(stored.claims), std::move(stored.products), read_file(place / "result.json"), {}, true, false};
    if (policy.figures && lacks_drawings(place) && find_program("gnuplot")) draw(parent, name, finding);
    return finding;
}

/// Copies what somebody put beside an earlier result into the folder that takes its place.
void keep_others_files(const fs::path& earlier, const fs::path& staged) {
    if (!fs::is_directory(earlier)) return;
    std::vector<std::string> ours = {"result.json", "data.csv", "manifest.json"};
    try {
        for (std::string& name : files_of_figures(earlier)) ours.push_back(std::move(name));
    } catch (const DataError&) {
        // Damaged: what its figures were called is not known, so their files stay.
    }
    for (const auto& entry : fs::directory_iterator(earlier)) {
        const std::string name = entry.path().filename().string();
        const bool own = std::find(ours.begin(), ours.end(), name) != ours.end() || fs::exists(staged / name);
        if (!own) fs::copy(entry.path(), staged / name, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }
}

}  // namespace

RunContext context_of(const Request& request, std::function<void(double)> progress) {
    return {request.seed, request.size, request.backend, request.settings, std::move(progress)};
}

bool is_complete(const fs::path& folder, const Request& request) {
    return is_complete(folder, request_digest(*request.experiment, context_of(request, {})));
}

Finding run_single(const Request& request, const fs::path& parent, const std::string& name, const RunPolicy& policy,
                   const std::function<void(double)>& progress) {
    const Experiment& experiment = *request.experiment;
    RunContext context = context_of(request, progress);
    const std::string digest = request_digest(experiment, context);
    if (!policy.force && is_complete(parent / name, digest)) return stored_finding(parent, name, policy);
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t processor_start = std::clock();
    StagedFolder folder(parent, name);
    Result result(experiment.name);
    context.trained = [&](std::int64_t parameters, std::int64_t steps) { result.trained(parameters, steps); };
    bool left_out = request.settings.without().empty();
    context.left_out = [&] { left_out = true; };
    ProductLedger ledger;
    RunParts parts(parent / ("." + name + ".parts"), digest, ledger);
    if (policy.force) parts.forget();
    context.parts = &parts;
    {
        const ObservedProducts observed(ledger);
        experiment.run(context, result);
    }
    if (!left_out) {
        throw UsageError(fmt::format("{} trains nothing that has what without={} would leave out", experiment.name,
                                     request.settings.without()));
    }
    result.products(ledger.products());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const double processor_seconds = static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
    write_figures(result, folder.path());
    write_record(experiment, context, result, digest, {seconds.count(), processor_seconds, parts.resumed()},
                 folder.path());
    keep_others_files(parent / name, folder.path());
    folder.publish();
    parts.forget();
    Finding finding{result.claims(), result.products(), result_json(experiment, context, result), {}, false, false};
    if (policy.figures) draw(parent, name, finding);
    return finding;
}

}  // namespace ulp
