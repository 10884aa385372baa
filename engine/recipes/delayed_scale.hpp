// Operands quantised by their rules, and what delayed scales remember from one use to the next.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/recipes/product_rules.hpp"
#include "engine/tensor/matrix.hpp"
#include "softfloat/quantization/quantize.hpp"

namespace ulp {

/// The largest magnitudes of the last uses, oldest first, by place ("fc1/linear, forward, a", or "fc1/linear, x" with
/// the key of a tensor); at "fc1/linear, x, scale" what the tensor's numbers are multiplied by in this step.
using ScalingHistory = std::map<std::string, std::vector<float>>;

/// Which operand it is.
struct OperandPlace {
    std::string product;       // "fc1/linear, forward, a"
    std::string tensor;        // "fc1/linear, x"
    bool used_before = false;  // in this step, in another product of the layer
};

/// Lines along k quantised by the rule. A delayed scale is known before the numbers are: it comes from the history,
/// into which this use's own magnitude goes then. A tensor's scale is that of its first use in a step, in all products.
/// `remember` false leaves the history as it is: for evaluation.
Quantized quantized_operand(const OperandRule& rule, const MatrixView& lines, const OperandPlace& place,
                            ScalingHistory& history, bool remember, QuantizedUse use = {});

}  // namespace ulp
