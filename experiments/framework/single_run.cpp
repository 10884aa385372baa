#include "experiments/framework/single_run.hpp"

#include <chrono>

#include "experiments/framework/figures.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/record.hpp"
#include "experiments/framework/stored_results.hpp"

namespace ulp {
namespace fs = std::filesystem;
namespace {

/// The finding that the folder holds; figures that were left out, for want of gnuplot, are drawn now.
Finding stored_finding(const fs::path& parent, const std::string& name, const RunPolicy& policy) {
    const fs::path place = parent / name;
    std::string note;
    if (policy.figures && lacks_drawings(place)) {
        StagedFolder folder(parent, name);
        fs::copy(place, folder.path());
        note = draw_figures(folder.path(), place);
        folder.publish();
    }
    return {read_result(parent, name).claims, read_file(place / "result.json"), std::move(note), true};
}

}  // namespace

RunContext context_of(const Request& request, std::function<void(double)> progress) {
    return {request.seed, !request.full, request.backend, request.settings, std::move(progress)};
}

bool is_complete(const fs::path& folder, const Request& request) {
    return is_complete(folder, request_digest(*request.experiment, context_of(request, {})));
}

Finding run_single(const Request& request, const fs::path& parent, const std::string& name, const RunPolicy& policy,
                   const std::function<void(double)>& progress) {
    if (!policy.force && is_complete(parent / name, request)) return stored_finding(parent, name, policy);
    const auto start = std::chrono::steady_clock::now();
    const Experiment& experiment = *request.experiment;
    const RunContext context = context_of(request, progress);
    StagedFolder folder(parent, name);
    Result result(experiment.name);
    experiment.run(context, result);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    write_record(experiment, context, result, seconds.count(), folder.path());
    std::string note;
    if (policy.figures) {
        write_scripts(result, folder.path());
        note = draw_figures(folder.path(), parent / name);
    }
    folder.publish();
    return {result.claims(), result_json(experiment, context, result), std::move(note), false};
}

}  // namespace ulp
