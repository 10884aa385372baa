// Training runs that continue from the weights of others.
#pragma once

#include "engine/data/dataset.hpp"
#include "experiments/training/comparison.hpp"
#include "experiments/training/tasks.hpp"

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

// Digits to learn first, and the same ones sheared to fine-tune to.

/// Every row moves to the right by that many hundredths of its distance from the middle, to the nearest pixel; 0 comes
/// in.
Dataset sheared(Dataset data, Index percent);

struct TunedDigits {
    DataSplit first;   // plain digits to train on, sheared ones to test on
    DataSplit second;  // sheared ones
};
/// By the setting "shear", too.
TunedDigits tuned_digits_of(const RunContext& context, Result& result);

/// Weights after the setting "first_steps" of Adam at 1e-3 on the first data, in fp32; the score
/// is that on sheared digits.
Comparison first_training(const RunContext& context, Result& result, const Layers& net, const TunedDigits& data,
                          ProgressPart part);

}  // namespace ulp::natural
