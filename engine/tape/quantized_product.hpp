// Products of quantised operands, by each of the ways that a plan may take (engine/recipes/product_rules.hpp).
#pragma once

#include <functional>
#include <optional>

#include "engine/recipes/product_rules.hpp"
#include "engine/tensor/matrix.hpp"
#include "softfloat/quantization/quantize.hpp"

namespace ulp {

/// A (m x k) and B (k x n) as they are, and quantised where their rules say so: the left one's lines are A's rows, the
/// right one's B's columns.
struct QuantizedOperands {
    MatrixView a, b;
    std::optional<Quantized> left, right;
};

/// D = A * B by the plan; `dispatch` computes products of the plan's types. Uses the operands up.
void quantized_product(const ProductPlan& plan, const ProductRule& rule, QuantizedOperands operands,
                       const MutableMatrixView& d, const std::function<void(const Product&)>& dispatch);

/// Rounds each number to the format.
void round_rows(const FloatFormat& format, const MutableMatrixView& d);

}  // namespace ulp
