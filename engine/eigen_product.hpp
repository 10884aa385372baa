// Eigen's fp32 product, compiled once for each set of vector instructions (softfloat/simd_choice.hpp).
//
// Eigen is templates: the linker would take any one of the copies for all. So each of these units has Eigen in a
// namespace of its own name, and only what is declared here crosses.
#pragma once

#include <cstdint>

namespace ulp {

/// D = A * B on one thread, D row-major: m x n; A is m x k, B is k x n, each with one stride of 1.
struct EigenProduct {
    std::int64_t m, n, k;
    const float* a;
    std::int64_t a_row_stride, a_col_stride;
    const float* b;
    std::int64_t b_row_stride, b_col_stride;
    float* d;
    std::int64_t d_row_stride;
};
void eigen_product_portable(const EigenProduct& product);
void eigen_product_avx2(const EigenProduct& product);
void eigen_product_avx512(const EigenProduct& product);

}  // namespace ulp
