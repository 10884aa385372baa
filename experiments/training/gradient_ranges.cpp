#include "experiments/training/gradient_ranges.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "softfloat/round.hpp"

namespace ulp {

TaskBuilder watching_gradient_ranges(const TaskBuilder& task) {
    return watching<GradientRanges>(task, [](Task& observed, const auto& found) {
        observed.tap = [found](std::int64_t, const TapEvent& event) {
            if (!is_gradient(event.role) || event.values.size() == 1) return;
            found->histogram.add(event.values);
            found->by_tensor[fmt::format("{} {}", name_of(event.role), event.name)].add(event.values);
            for (const float g : event.values) {
                if (std::isfinite(g)) {
                    found->largest = std::max(found->largest, std::fabs(g) / static_cast<float>(event.loss_scale));
                }
            }
        };
        observed.before_update = [found](Optimizer& optimizer) {
            const bool finite = std::ranges::all_of(optimizer.gradients(), [](const Tensor& t) {
                return std::ranges::all_of(t.values(), [](float g) { return std::isfinite(g); });
            });
            found->infinite += finite ? 0 : 1;
        };
    });
}

BinadeHistogram gradients_of(const std::vector<Learned>& runs) {
    return pooled(runs, [](const Learned& run) { return run.kept<GradientRanges>().histogram; });
}

ScalePrediction::ScalePrediction(const std::vector<Learned>& runs) : gradients(gradients_of(runs)) {
    for (const Learned& run : runs) {
        const auto& found = run.kept<GradientRanges>();
        largest = std::max(largest, found.largest);
        for (const auto& [name, histogram] : found.by_tensor) tensors.push_back(&histogram);
    }
}

int ScalePrediction::first_exponent() const {
    int n = 0;
    while (n < 60 && std::ranges::any_of(tensors, [n](const auto* t) { return t->lost_share(n) > 0.5; })) ++n;
    return n;
}

int ScalePrediction::last_exponent() const {
    const auto finite = [&](int n) {
        return std::isfinite(round_to(formats::fp16, largest * static_cast<float>(std::ldexp(1.0, n))));
    };
    int n = 0;
    while (n < 60 && finite(n + 1)) ++n;
    return n;
}

}  // namespace ulp
