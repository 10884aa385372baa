// A product of fp32 matrices in plain numbers, for units that are compiled once for each set of vector instructions:
// what they share with others must not be templates or inline functions.
#pragma once

#include <cstdint>

namespace ulp {

/// A is m x k, B is k x n, D is m x n, D's rows with their elements beside each other.
struct StridedProduct {
    std::int64_t m, n, k;
    const float* a;
    std::int64_t a_row_stride, a_col_stride;
    const float* b;
    std::int64_t b_row_stride, b_col_stride;
    float* d;
    std::int64_t d_row_stride;
};

}  // namespace ulp
