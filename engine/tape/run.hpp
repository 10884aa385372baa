// What moves while an engine computes, and the one way to evaluate.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/recipes/product_rules.hpp"
#include "engine/tape/engine.hpp"
#include "engine/tape/layer_recipes.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/watching/watch.hpp"

namespace ulp::inline ULPLAB_MODE {

/// Who looks on. They change no bit of what is computed.
struct Observers {
    Tap tap{};                 // called for every tensor that comes into being, where set
    ProductTap product_tap{};  // called for every product, where set
    Watch* watch = nullptr;    // counts, and finds the first infinity, where set
};

/// Numbers instead of parameters, by the parameters' names.
using WeightsByName = std::map<std::string, Tensor, std::less<>>;

/// Where a training is, what its delayed scales remember, and who looks on. A run outlives the tapes that use it.
struct Run {
    bool training = true;    // dropout drops, batch norm uses and collects the batch's statistics, scales remember
    std::uint64_t seed = 0;  // of dropout and stochastic rounding, with the step
    std::int64_t step = 0;
    double loss_scale = 1;  // what the gradients of the current step carry (told to the tap)
    ScalingHistory scaling_history{};
    LayerRecipes layers{};  // what the recipe leaves out of the model
    Observers observers{};
    /// Where set, parameters come onto tapes with these numbers, rounded to their formats; not at all in a recipe whose
    /// weights are fp32.
    std::shared_ptr<const WeightsByName> weights{};
};

/// An engine, and a run of its own that evaluates: nothing is dropped, batch norm uses its running statistics, delayed
/// scales are those of the training and stay as they are, nobody looks on unless told to. So no bit of the training, no
/// statistic and no count depends on whether it was evaluated.
struct Evaluation {
    Engine engine;
    Run run;

    /// At the state of `training`, in the arithmetic of `how`.
    Evaluation(const Engine& how, const Run& training)
        : engine(how),
          run{.training = false,
              .seed = training.seed,
              .step = training.step,
              .scaling_history = training.scaling_history,
              .layers = LayerRecipes(how.recipe, training.layers.linear_layers())} {}
};

}  // namespace ulp::inline ULPLAB_MODE
