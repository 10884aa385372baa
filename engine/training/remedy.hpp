// What keeps a step finite: found by computing the step again with one thing changed, and looking.
#pragma once

#include <functional>

#include "engine/tape/run.hpp"
#include "engine/training/optimizer.hpp"
#include "engine/watching/watch.hpp"

namespace ulp::inline ULPLAB_MODE {

/// Forward and backward of the step in this recipe with this constant loss scale: the first number that is not finite.
using StepAgain = std::function<std::optional<NonFinite>(const Recipe&, double loss_scale)>;

/// Whether a smaller loss scale could have kept it finite: gradients, and the loss once it is scaled.
bool depends_on_scale(const NonFinite& found);

/// Tries, in this order: smaller loss scales, by powers of two, where one could help; the operation in fp32, and those
/// that fail after it.
Remedy remedy_of_step(const NonFinite& found, const Engine& engine, double loss_scale, const StepAgain& again);

/// The recipe with operations in fp32, or the constant loss scale, that the remedy names.
Recipe with_remedy(Recipe recipe, const Remedy& remedy);

/// For an update that gave an infinity or a NaN: the smallest power of two as eps with which every update is finite and
/// no larger than the optimizer's own bound (Kingma and Ba, "Adam", section 2.1: the rate times max(1, (1 - beta1) /
/// sqrt(1 - beta2)); for Sophia its clip, 1). Where no eps helps: the learning rate, halved until every update is
/// finite. Leaves the optimizer as `before`.
Remedy remedy_of_update(Optimizer& optimizer, const Optimizer::Snapshot& before);

}  // namespace ulp::inline ULPLAB_MODE
