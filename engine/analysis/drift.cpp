#include "engine/analysis/drift.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ulp {
namespace {

std::string step_name(const StepDrift& at) {
    return at.step ? fmt::format("step {}", *at.step) : "files without a step";
}

}  // namespace

std::vector<StepDrift> drift_over_steps(const std::vector<TensorDifference>& differences) {
    std::vector<StepDrift> drift;
    for (const TensorDifference& each : differences) {
        if (drift.empty() || drift.back().step != each.step) drift.push_back({each.step});
        StepDrift& now = drift.back();
        ++now.tensors;
        now.count += each.count;
        if (each.differ == 0) continue;
        if (now.tensors_differ++ == 0) now.first = each.name;
        now.differ += each.differ;
        now.most_ulps = std::max(now.most_ulps, each.most_ulps);
        now.largest_difference = std::max(now.largest_difference, each.largest_difference);
    }
    return drift;
}

std::string drift_sentence(const std::vector<StepDrift>& drift) {
    if (drift.size() < 2) return "";
    const auto first = std::ranges::find_if(drift, [](const StepDrift& each) { return each.differ > 0; });
    if (first == drift.end()) return fmt::format("The dumps are equal in all {} steps.", drift.size());
    std::string text =
        fmt::format("The dumps differ from {} on, first in {}", step_name(*first), printable(first->first));
    const StepDrift& last = drift.back();
    if (first->step == last.step) return text + ".";
    if (last.differ == 0) return text + fmt::format("; in {}, the last, they are equal again.", step_name(last));
    text += fmt::format(": there by at most {:.3g}, in {}, the last, by at most {:.3g}", first->largest_difference,
                        step_name(last), last.largest_difference);
    if (first->largest_difference > 0 && last.largest_difference > first->largest_difference) {
        text += fmt::format(" ({:.3g} times as much)", last.largest_difference / first->largest_difference);
    }
    return text + ".";
}

}  // namespace ulp
