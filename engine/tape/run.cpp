#include "engine/tape/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "engine/recipes/recipe.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

/// Throws std::invalid_argument where not exactly one field says which layers, or it names none.
void require_one_field(const Recipe& recipe, const Exclusion& e) {
    const int fields = int{!e.layer.empty()} + int{!e.kind.empty()} + int{e.first != 0} + int{e.last != 0};
    if (fields != 1 || e.first < 0 || e.last < 0) {
        throw std::invalid_argument(fmt::format(
            "recipe {} leaves out layers by ({}); give exactly one of layer, kind, first and last, a count from 1 on",
            recipe.name, text_of(e)));
    }
    const auto kinds = product_operations();
    if (e.kind.empty() || std::ranges::find(kinds, e.kind) != kinds.end()) return;
    throw std::invalid_argument(fmt::format("recipe {} leaves out the products of \"{}\"; those with products are {}",
                                            recipe.name, e.kind, fmt::join(kinds, ", ")));
}

}  // namespace

LayerRecipes::LayerRecipes(const Recipe& recipe, std::vector<std::string> linear_layers)
    : linear_layers_(std::move(linear_layers)) {
    const std::size_t count = linear_layers_.size();
    for (const Exclusion& exclusion : recipe.excluded) {
        require_one_field(recipe, exclusion);
        const auto other = std::make_shared<const Recipe>(recipe_by_name(exclusion.recipe));
        const auto leave_out = [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) by_layer_[linear_layers_[i]] = other;
        };
        leave_out(0, std::min(count, static_cast<std::size_t>(exclusion.first)));
        leave_out(count - std::min(count, static_cast<std::size_t>(exclusion.last)), count);
        if (!exclusion.kind.empty()) by_kind_[exclusion.kind] = other;
        if (exclusion.layer.empty()) continue;
        if (std::ranges::find(linear_layers_, exclusion.layer) == linear_layers_.end()) {
            throw std::invalid_argument(fmt::format("recipe {} leaves out layer {}, which the model lacks; it has {}",
                                                    recipe.name, exclusion.layer, fmt::join(linear_layers_, ", ")));
        }
        by_layer_[exclusion.layer] = other;
    }
}

const Recipe& LayerRecipes::excluded(const Recipe& own, std::string_view scope, std::string_view op) const {
    if (const auto kind = by_kind_.find(op); kind != by_kind_.end()) return *kind->second;
    const std::size_t slash = scope.rfind('/');
    const std::string_view innermost = slash == std::string_view::npos ? scope : scope.substr(slash + 1);
    const auto layer = by_layer_.find(innermost);
    return layer == by_layer_.end() ? own : *layer->second;
}

std::vector<std::string> linear_layers_of(const Model& model) {
    constexpr std::string_view ending = ".weight";
    const auto& parameters = model.parameters();
    std::vector<std::string> layers;
    for (const Parameter& weight : parameters) {
        if (weight.value.rank() != 2 || !weight.name.ends_with(ending)) continue;
        const std::string layer = weight.name.substr(0, weight.name.size() - ending.size());
        const auto bias = std::ranges::find(parameters, layer + ".bias", &Parameter::name);
        const bool biased = bias != parameters.end() && bias->value.shape() == Shape{weight.value.dim(0)};
        if (biased || weight.of_linear_layer) layers.push_back(layer);
    }
    return layers;
}

}  // namespace ulp::inline ULPLAB_MODE
