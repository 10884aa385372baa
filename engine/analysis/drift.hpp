// How two dumps of several steps come apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/comparison.hpp"

namespace ulp {

/// All tensors of one step.
struct StepDrift {
    std::optional<std::int64_t> step;  // as the files' names say
    std::int64_t tensors = 0, tensors_differ = 0;
    std::int64_t count = 0, differ = 0;  // numbers
    std::uint64_t most_ulps = 0;
    double largest_difference = 0;
    std::string first{};  // tensor that differs; empty where none does
};

/// In the order of the differences, which is that of the steps.
std::vector<StepDrift> drift_over_steps(const std::vector<TensorDifference>& differences);

/// "The dumps differ from step 12 on, first in layer.weight; ... grew 8-fold to step 40." Empty with fewer than two
/// steps.
std::string drift_sentence(const std::vector<StepDrift>& drift);

}  // namespace ulp
