// Where two training runs of one net part that differ in what multiplies.
#pragma once

#include <memory>
#include <string>

#include "engine/products/matmul.hpp"
#include "experiments/cli/net_declarations.hpp"

namespace ulp {

/// Trains the options' net on both backends in step. Empty if they do not differ; else in words: the step and the
/// product that differ first (its place in the step, layer, pass, types and shapes), the element of it with both
/// results, the first parameter and element that differ later, after which step, and the product's operands; or the
/// parameter alone, if no product differs before it.
std::string first_training_difference(std::unique_ptr<MatmulBackend> a, std::unique_ptr<MatmulBackend> b,
                                      const NetOptions& options);

}  // namespace ulp
