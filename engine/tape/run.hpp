// What moves while an engine computes, and the one way to evaluate.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recipes/product_rules.hpp"
#include "engine/recipes/recipe.hpp"
#include "engine/tape/parameter.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/watching/watch.hpp"

// How operations compute: the recipe and the backend. An Engine outlives the tapes that use it.

namespace ulp {

/// How operations compute. Constant: what moves is a Run (engine/tape/run.hpp).
struct Engine {
    const Recipe recipe;
    const std::shared_ptr<const MatmulBackend> backend;

    Engine(Recipe how, std::unique_ptr<MatmulBackend> matmul) : recipe(std::move(how)), backend(std::move(matmul)) {}
    /// Another recipe on the backend of an engine.
    Engine(Recipe how, std::shared_ptr<const MatmulBackend> matmul)
        : recipe(std::move(how)), backend(std::move(matmul)) {}
    Engine(std::string_view recipe_name, std::string_view backend_spec)
        : Engine(recipe_by_name(recipe_name), make_backend(backend_spec)) {}
};

}  // namespace ulp

// Which recipe computes a layer's products: the engine's, or another one for the layers that it leaves out.

namespace ulp::inline ULPLAB_MODE {

/// A recipe's exclusions, resolved once for the layers of a model. Empty: nothing is left out.
class LayerRecipes {
  public:
    LayerRecipes() = default;
    /// `linear_layers`: the model's, in the order in which they asked for their parameters. Throws
    /// std::invalid_argument for an exclusion by the name of a layer that is not among them, of an operation without
    /// products, or with another number of fields set than one.
    LayerRecipes(const Recipe& recipe, std::vector<std::string> linear_layers);

    /// `own`, unless the innermost layer of the scope ("encoder/fc1") or the operation is left out.
    [[nodiscard]] const Recipe& recipe_for(const Recipe& own, std::string_view scope, std::string_view op) const {
        return by_layer_.empty() && by_kind_.empty() ? own : excluded(own, scope, op);
    }
    [[nodiscard]] const std::vector<std::string>& linear_layers() const { return linear_layers_; }

  private:
    using Recipes = std::map<std::string, std::shared_ptr<const Recipe>, std::less<>>;
    [[nodiscard]] const Recipe& excluded(const Recipe& own, std::string_view scope, std::string_view op) const;

    std::vector<std::string> linear_layers_;
    Recipes by_layer_;
    Recipes by_kind_;
};

/// The model's linear layers: those with a weight (out, in) and a bias (out), by the names of their parameters.
std::vector<std::string> linear_layers_of(const Model& model);

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
