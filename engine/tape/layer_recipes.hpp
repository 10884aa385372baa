// Which recipe computes a layer's products: the engine's, or another one for the layers that it leaves out.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recipes/recipe.hpp"
#include "engine/tape/parameter.hpp"

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

}  // namespace ulp::inline ULPLAB_MODE
