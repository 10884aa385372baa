// A study of recipes as one page without a network.
#pragma once

#include <string>

#include "experiments/cli/recipe_study.hpp"

namespace ulp {

std::string recipe_page(const RecipeStudy& study, const std::string& net);

}  // namespace ulp
