// Runs the negative controls of the experiments: with the effect switched off, the verdicts of the claims about it
// change, and no others. A claim that holds whatever happens claims nothing.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "experiments/framework/experiment.hpp"

namespace ulp {

using Texts = std::vector<std::string>;

inline std::vector<Claim> claims_of(const Experiment& experiment, const Control& control, const Texts& off) {
    Settings settings(experiment.settings, control.size);
    for (const Texts* assignments : {&control.small, &off}) {
        for (const std::string& assignment : *assignments) settings.set(assignment);
    }
    Result result(experiment.name);
    experiment.run({1, control.size, "", std::move(settings), [](double) {}}, result);
    return result.claims();
}

/// The claims of a run whose verdicts are others than before.
inline Texts changed_claims(const std::vector<Claim>& before, const std::vector<Claim>& after) {
    Texts changed;
    for (const Claim& claim : after) {
        const auto same_id = [&](const Claim& other) { return other.id == claim.id; };
        const auto earlier = std::ranges::find_if(before, same_id);
        if (earlier != before.end() && earlier->verdict == Verdict::failed) continue;  // the run is too short for it
        if (earlier == before.end() || earlier->verdict != claim.verdict) {
            changed.push_back(claim.id.substr(claim.id.find('.') + 1));
        }
    }
    return changed;
}

inline std::string text_of(const Texts& names) { return fmt::format("{}", fmt::join(names, " ")); }

/// Tries all controls of a size, or those of the experiment that ULPLAB_EXPERIMENT names.
inline void try_controls(RunSize size) {
    const char* only = std::getenv("ULPLAB_EXPERIMENT");
    for (const Experiment& experiment : experiments()) {
        if (only != nullptr && experiment.name != only) continue;
        std::map<Texts, std::vector<Claim>> ordinary;  // by the settings of both runs
        for (const Control& control : experiment.controls) {
            if (control.size != size) continue;
            INFO(experiment.name << " " << control.off.front());
            CHECK_FALSE(control.fail.empty());
            if (!ordinary.contains(control.small)) ordinary[control.small] = claims_of(experiment, control, {});
            const std::vector<Claim> spoilt = claims_of(experiment, control, control.off);
            CHECK(text_of(changed_claims(ordinary.at(control.small), spoilt)) == text_of(control.fail));
        }
    }
}

}  // namespace ulp
