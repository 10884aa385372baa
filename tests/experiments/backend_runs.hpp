// Runs of the experiments on backends of the command line, and what their figures say stands behind them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "experiments/framework/experiment.hpp"

namespace ulp {

/// The shortest run of the experiment on a backend, with these settings.
inline Result smoke_run(const Experiment& experiment, const std::string& backend,
                        const std::vector<std::string>& assignments = {}) {
    Settings settings(experiment.settings, RunSize::smoke);
    for (const std::string& assignment : assignments) settings.set(assignment);
    Result result(experiment.name);
    experiment.run({1, RunSize::smoke, backend, std::move(settings), [](double) {}}, result);
    return result;
}

/// A figure with a series named as an arithmetic in the harness's own figures, which have evidence, has some, too.
inline void check_evidence_of_figures(const Result& result) {
    std::set<std::string> arms;
    for (const Figure& figure : result.figures()) {
        if (figure.evidence.empty() || (figure.plot != "seeds" && figure.plot != "curves")) continue;
        for (const Series& series : figure.series) arms.insert(series.name);
    }
    for (const Figure& figure : result.figures()) {
        if (!figure.evidence.empty()) continue;
        for (const Series& series : figure.series) {
            INFO(result.experiment() << "/" << figure.name << ": " << series.name);
            CHECK((series.name.starts_with("fp32") || !arms.contains(series.name)));
        }
    }
}

/// A backend whose name has a comma and brackets, which no series may have.
inline void try_checked_backend(const Experiment& experiment, const std::vector<std::string>& assignments = {}) {
    INFO(experiment.name);
    check_evidence_of_figures(smoke_run(experiment, "checked(soft:h100,soft:h100)", assignments));
}

}  // namespace ulp
