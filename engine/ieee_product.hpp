// The fp32 product that rounds each product and each sum, in ascending k, compiled once for each set of vector
// instructions (softfloat/simd_choice.hpp). A sum stays in a register while k runs; its steps are those of the plain
// loop, and so are the bits.
#pragma once

#include <cstdint>

namespace ulp {

/// D = A * B, or D = D + A * B where `onto_d`, on one thread. A is m x k, B is k x n, each with any strides; D is
/// m x n, its rows' elements beside each other.
struct IeeeProduct {
    std::int64_t m, n, k;
    const float* a;
    std::int64_t a_row_stride, a_col_stride;
    const float* b;
    std::int64_t b_row_stride, b_col_stride;
    float* d;
    std::int64_t d_row_stride;
    bool onto_d;
};
void ieee_product_portable(const IeeeProduct& product);
void ieee_product_avx2(const IeeeProduct& product);
void ieee_product_avx512(const IeeeProduct& product);

}  // namespace ulp
