// Runs the negative controls of the experiments: with the effect switched off, the claims about it fail, and no others.
// A claim that holds whatever happens claims nothing. A verdict that moves towards the one that the source wants is no
// failure: a control that makes a claim hold shows nothing about it.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "experiments/framework/experiment.hpp"
#include "experiments/framework/register.hpp"

namespace ulp {

using Texts = std::vector<std::string>;

inline std::vector<Claim> claims_of(const Experiment& experiment, const Control& control, const Texts& off) {
    Settings settings(experiment.settings, control.size);
    for (const Texts* assignments : std::initializer_list<const Texts*>{&control.small, &off}) {
        for (const std::string& assignment : *assignments) settings.set(assignment);
    }
    Result result(experiment.name);
    experiment.run({1, control.size, "", std::move(settings), [](double) {}}, result);
    return result.claims();
}

/// Steps from what the claim says: a reproduced one has 0, an undecided one 1, a refuted or failed one 2. Of a claim
/// that is known to be refuted, from its refutation.
inline int steps_away(Verdict verdict, bool known_refuted) {
    switch (verdict) {
        case Verdict::reproduced: return known_refuted ? 2 : 0;
        case Verdict::undecided: return 1;
        case Verdict::refuted: return known_refuted ? 0 : 2;
        case Verdict::failed: return 2;
        case Verdict::inconsistent:
        case Verdict::quoted: return 0;
    }
    return 0;
}

/// Whether the claim is refuted in each register that has it, and one has it.
inline bool is_known_refuted(const std::string& id, const std::vector<Register>& registers) {
    bool found = false;
    for (const Register& one : registers) {
        const auto claim = std::ranges::find(one.claims, id, &Claim::id);
        if (claim == one.claims.end() || one.outdated.contains(id)) continue;
        if (claim->verdict != Verdict::refuted) return false;
        found = true;
    }
    return found;
}

/// The claims of a run whose verdicts lie further from what they say than before.
inline Texts failed_claims(const std::vector<Claim>& before, const std::vector<Claim>& after,
                           const std::vector<Register>& registers) {
    Texts failed;
    for (const Claim& claim : after) {
        const auto earlier = std::ranges::find(before, claim.id, &Claim::id);
        const bool known_refuted = is_known_refuted(claim.id, registers);
        if (earlier != before.end() && earlier->verdict == Verdict::failed) continue;  // the run is too short for it
        if (earlier == before.end() ||
            steps_away(claim.verdict, known_refuted) > steps_away(earlier->verdict, known_refuted)) {
            failed.push_back(claim.id.substr(claim.id.find('.') + 1));
        }
    }
    return failed;
}

inline std::vector<Register> all_registers() {
    std::vector<Register> registers;
    for (const RunSize size : {RunSize::quick, RunSize::full}) {
        if (auto one = find_register(size)) registers.push_back(std::move(*one));
    }
    return registers;
}

inline std::string text_of(const Texts& names) { return fmt::format("{}", fmt::join(names, " ")); }

/// Tries all controls of a size, or those of the experiment that ULPLAB_EXPERIMENT names.
inline void try_controls(RunSize size) {
    const char* only = std::getenv("ULPLAB_EXPERIMENT");
    const std::vector<Register> registers = all_registers();
    for (const Experiment& experiment : experiments()) {
        if (only != nullptr && experiment.name != only) continue;
        std::map<Texts, std::vector<Claim>> ordinary;  // by the settings of both runs
        for (const Control& control : experiment.controls) {
            if (control.size != size) continue;
            INFO(experiment.name << " " << control.off.front());
            CHECK_FALSE(control.fail.empty());
            if (!ordinary.contains(control.small)) ordinary[control.small] = claims_of(experiment, control, {});
            const std::vector<Claim> spoilt = claims_of(experiment, control, control.off);
            CHECK(text_of(failed_claims(ordinary.at(control.small), spoilt, registers)) == text_of(control.fail));
        }
    }
}

}  // namespace ulp
