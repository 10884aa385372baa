// A study of recipes as one page without a network.
#pragma once

#include <string>
#include <vector>

#include "experiments/cli/recipe_study.hpp"

namespace ulp {

std::string recipe_page(const RecipeStudy& study, const std::vector<ArmVerdict>& judged, const std::string& net);

/// "holds", "too high", "undecided (8 more seeds)".
std::string outcome_text(const ArmVerdict& verdict);

}  // namespace ulp
