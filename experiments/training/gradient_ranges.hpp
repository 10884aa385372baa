// Which constant loss scales suit a net, predicted from the exponents of its gradients in fp32.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/training.hpp"

namespace ulp {

/// What a run's gradients are like, over all its steps.
struct GradientRanges {
    BinadeHistogram histogram{};
    std::map<std::string, BinadeHistogram> by_tensor{};
    float largest = 0;          // finite magnitude, without the loss scale
    std::int64_t infinite = 0;  // steps whose weight gradients were not all finite
};
/// Looks at every gradient that lies in 16 bits when the net trains in fp16: all but the loss's own. Keeps
/// GradientRanges.
TaskBuilder watching_gradient_ranges(const TaskBuilder& task);
/// Those of all seeds together.
BinadeHistogram gradients_of(const std::vector<Learned>& runs);

/// What one pass over fp32 runs says about a scale of 2^n; the runs must outlive it.
struct ScalePrediction {
    BinadeHistogram gradients;                      // of all seeds
    std::vector<const BinadeHistogram*> tensors{};  // by seed and tensor
    float largest = 0;

    explicit ScalePrediction(const std::vector<Learned>& runs);
    /// The least n in 0..60 of which no tensor loses more than half of its gradients.
    [[nodiscard]] int first_exponent() const;
    /// The largest n in 0..60 with which the largest gradient stays finite in fp16.
    [[nodiscard]] int last_exponent() const;
};

}  // namespace ulp
