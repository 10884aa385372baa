// Which operations automatic casting runs in which precision: one table, three authors.
//
// Sources: apex amp (lists/functional_overrides.py, torch_overrides.py, tensor_overrides.py); PyTorch's "Automatic
// Mixed Precision" documentation, CUDA ops and CPU ops. Operations without a row, and those that the authors let
// through or promote, run in the widest format of their inputs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/recipes/recipe.hpp"

namespace ulp {

enum class CastList : std::uint8_t { apex, pytorch_cuda, pytorch_cpu };
/// "apex", "pytorch_cuda", "pytorch_cpu". Throws std::invalid_argument with the list.
CastList cast_list_by_name(std::string_view name);
/// The rows of one author as a recipe takes them.
std::vector<CastRule> cast_rules_of(CastList list);

/// The operations that multiply matrices.
std::span<const std::string_view> product_operations();
/// The recipe with these operations computed and stored in fp32, products with fp32 operands and sums: their backend
/// must have those.
Recipe with_fp32_operations(Recipe recipe, const std::vector<std::string>& operations);
/// The recipe with these operations in its low format, batch normalisations' parameters included.
Recipe with_low_operations(Recipe recipe, const std::vector<std::string>& operations);

}  // namespace ulp
