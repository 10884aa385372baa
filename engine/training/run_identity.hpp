// What the bits of a training run depend on, by name: a checkpoint holds it, and is refused with the difference named.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/training/trainer.hpp"

namespace ulp {

/// Names and values as text, in the order in which differences are told. An option of a program is its own name:
///
///     {"--batch", "64"}, {"data", "generated digits, SHA-256 5e88..."}
using RunIdentity = std::vector<std::pair<std::string, std::string>>;

/// Every field of the recipe, its loss scaler's among them: "recipe.low" is "fp16", "loss_scale.window" is "2000".
RunIdentity identity_of(const Recipe& recipe);
/// Every option: "optimizer.beta1" is "0.9".
RunIdentity identity_of(const OptimizerOptions& options);
/// What a trainer knows of itself: the library's version, recipe, backend, optimizer and seed. The net is known by its
/// parameters' names and shapes; whatever else its bits depend on (activations, data, batches, schedules) its user
/// adds.
RunIdentity identity_of(const Trainer& trainer);

/// "the checkpoint was made with --batch 32, this run has --batch 64": the first difference, or nothing.
std::optional<std::string> first_difference(const std::map<std::string, std::string>& made, const RunIdentity& here);

}  // namespace ulp
