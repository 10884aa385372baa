// Negative controls: with the effect switched off, the claims about it fail, and no others. A claim that holds whatever
// happens claims nothing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "experiments/framework/experiment.hpp"

namespace {

using namespace ulp;
using Texts = std::vector<std::string>;

Texts failed_claims(const Experiment& experiment, const Texts& small, const Texts& off) {
    Settings settings(experiment.settings, true);
    for (const Texts* assignments : {&small, &off}) {
        for (const std::string& assignment : *assignments) settings.set(assignment);
    }
    Result result(experiment.name);
    experiment.run({1, true, "", std::move(settings), [](double) {}}, result);
    Texts failed;
    for (const Claim& claim : result.claims()) {
        if (claim.verdict == Verdict::failed) failed.push_back(claim.id.substr(claim.id.find('.') + 1));
    }
    return failed;
}

Texts without(Texts names, const Texts& dropped) {
    std::erase_if(names, [&](const std::string& name) { return std::ranges::find(dropped, name) != dropped.end(); });
    return names;
}

std::string text_of(const Texts& names) { return fmt::format("{}", fmt::join(names, " ")); }

}  // namespace

TEST_CASE("every experiment has a control") {
    for (const Experiment& experiment : experiments()) {
        INFO(experiment.name);
        CHECK_FALSE(experiment.controls.empty());
    }
}

TEST_CASE("with the effect switched off the claims about it fail, and no others") {
    for (const Experiment& experiment : experiments()) {
        std::map<Texts, Texts> ordinary;  // small runs leave some claims open
        for (const Control& control : experiment.controls) {
            INFO(experiment.name << " " << control.off.front());
            if (!ordinary.contains(control.small))
                ordinary[control.small] = failed_claims(experiment, control.small, {});
            const Texts spoilt = failed_claims(experiment, control.small, control.off);
            CHECK_FALSE(control.fail.empty());
            CHECK(text_of(without(spoilt, ordinary.at(control.small))) == text_of(control.fail));
        }
    }
}
