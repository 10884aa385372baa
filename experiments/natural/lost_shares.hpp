// Which share of the gradients is 0 at each step: counted in 16 bits, or predicted from the histograms of fp32 runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/shared/binade_histogram.hpp"

namespace ulp {

/// Of the steps that were looked at.
using StepHistograms = std::map<std::int64_t, BinadeHistogram>;
using Shares = std::map<std::int64_t, double>;

/// The mean over the seeds: zeros, and with an exponent what fp16 makes 0 under a loss scale of 2^exponent, which is
/// what is not above 2^-25 once scaled.
Shares shares_of_zeros(const std::vector<const StepHistograms*>& seeds, std::optional<int> exponent);

/// Over the steps of `a`, which `b` has, too.
double largest_difference(const Shares& a, const Shares& b);

Series series_of(std::string name, const Shares& shares);
/// Pairs of series, over steps: a line for what was predicted, marks for what was counted.
void draw_predicted_shares(Figure& figure, std::string label);

}  // namespace ulp
