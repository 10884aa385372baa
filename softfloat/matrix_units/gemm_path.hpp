// Which way a product takes, and why. The products themselves choose by these functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/model.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp {

enum class GemmKernel {
    definition,     // chain_dot, integer_dot or block_scaled_dot, one element after the other
    fused_groups,   // products aligned and cut as 32-bit integers
    late_addend,    // the same, c aligned to their sum in fp64
    ieee_chain,     // the processor's IEEE operations in the unit's order
    integers,       // multiply-add of 16-bit words
    scaled_groups,  // fused groups whose block scales move their exponents
    fp4_sums        // FP4 as integers, the few scaled sums in fp64
};

struct GemmPath {
    GemmKernel kernel;
    Simd simd;                // the instructions that it is compiled for
    std::string_view reason;  // a sentence
};
/// As in the enumeration.
std::string_view name_of(GemmKernel kernel);

/// The path of gemm on m x k by k x n.
GemmPath choose_path(const TensorCoreModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     Simd simd = simd_choice());
GemmPath choose_path(const IntegerModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     Simd simd = simd_choice());
GemmPath choose_path(const BlockScaledModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     Simd simd = simd_choice());

}  // namespace ulp
