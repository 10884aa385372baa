// The update of one parameter, in parts that stay in the nearest cache: the rule, the sums, the rounding, the counts.
// The optimizer (optimizer.hpp) is the way to call it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/training/optimizer.hpp"

namespace ulp::inline ULPLAB_MODE {

/// What the loop over a parameter's weights needs.
struct ParameterUpdate {
    const OptimizerOptions& options;
    std::int64_t step;        // 1 for the first
    ComputeFormat steps_in;   // of the rule
    ComputeFormat stored_in;  // of the weights
    UpdateRounding rounding;
    std::uint64_t stream;            // of stochastic rounding
    std::vector<Real*> state;        // rows in the order of state_names()
    Real* compensation;              // Kahan's; else null
    std::span<const Real> gradient;  // as many as weights
    std::span<Real> weights;
    /// The rows that the update changes (weights, state, compensation) are copied here first: no rows, no copies.
    std::vector<Real*> before;
    bool search;  // for the first element whose finite operands gave a number that is not finite; needs the copies
};

/// The element that ulp::update() found, and the numbers that it came from and went to.
struct BadUpdate {
    Index element;
    float value;
    std::vector<std::pair<std::string, float>> numbers;  // "weight", "gradient", "mean", ..., "update"
};

/// Updates the weights and their state, and adds to the counts. Returns what the search found.
std::optional<BadUpdate> update(const ParameterUpdate& of, UpdateCounts& counts);

}  // namespace ulp::inline ULPLAB_MODE
