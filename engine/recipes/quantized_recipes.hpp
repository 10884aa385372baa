// Recipes whose products take operands of 8 bits and less, as rows. All train as bf16 does, with
// fp32 masters unless the row says otherwise.
#pragma once

#include <string>
#include <vector>

#include "engine/recipes/optimizer_state.hpp"
#include "engine/recipes/product_rules.hpp"

namespace ulp {

struct QuantizedRecipe {
    std::string name;
    std::string what;  // one line
    ProductRules products;
    std::vector<Exclusion> excluded{};
    OptimizerState state{};
    std::string alias_of{};  // the recipe of which this is another name
};

const std::vector<QuantizedRecipe>& quantized_recipes();

}  // namespace ulp
