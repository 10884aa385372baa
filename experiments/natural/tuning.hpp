// Training runs that continue from the weights of others.
#pragma once

#include "experiments/training/comparison.hpp"

namespace ulp::natural {

/// What the optimizer updates, parameter by parameter in the model's order.
using Weights = std::vector<Tensor>;
/// The task; keeps the weights after the last step.
TaskBuilder keeping_weights(const TaskBuilder& task);
/// The weights that the first arm of a comparison left with the same seed, of a task of keeping_weights(). The
/// comparison must outlive it.
std::function<Weights(std::uint64_t seed)> weights_left(const RunContext& context, const Comparison& comparison);
/// The task, whose net starts from these weights.
TaskBuilder starting_from(const TaskBuilder& task, const std::function<Weights(std::uint64_t seed)>& weights);

}  // namespace ulp::natural
