// Dot products of units that do not fuse groups of plain floating-point products, step by step, as text: chains and
// trees of ordinary operations, integers, elements with block scales. dot_explanation.hpp has the fused ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/analysis/dot_explanation.hpp"
#include "softfloat/matrix_units/block_steps.hpp"
#include "softfloat/matrix_units/integer_model.hpp"

namespace ulp {

/// Chains: each operation with its result. Groups that are added in a tree, exactly or with a late c: each group.
std::string explain_chained(const TensorCoreModel& model, const DotOperands& operands);

/// Groups of units whose steps vary from their summation's (varied_group.hpp): each term and each sum.
std::string explain_varied(const TensorCoreModel& model, const DotOperands& operands);

/// The same for units with fp64 operands and accumulators, with the result.
std::string explain_fp64(const TensorCoreModel& model, const Fp64Operands& operands);

/// Numbers in the model's ranges.
struct IntegerOperands {
    std::vector<std::int32_t> a, b;
    std::int32_t c = 0;
};
/// Every product, each instruction's sum, and what becomes of it beyond s32.
std::string explain_integers(const IntegerModel& model, const IntegerOperands& operands);

/// Of each instruction the scaled terms, the largest exponent, each term aligned, their sum and its rounding.
std::string explain_block_scaled(const BlockScaledModel& model, const ScaledOperands& operands);

}  // namespace ulp
