// Trainings that go on from the weights of others, with rates that follow a schedule.
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
/// The task with the optimizer's learning rate times `factor` in each step.
TaskBuilder scheduled(const TaskBuilder& task, const std::function<double(std::int64_t step)>& factor);

}  // namespace ulp::natural
