// Products that round each product and each sum, in ascending k, compiled once for each set of vector instructions
// (softfloat/vector/simd_choice.hpp). Their steps are those of the plain loop, and so are the bits.
#pragma once

#include <cstdint>

#include "engine/rounder.hpp"
#include "engine/strided_product.hpp"

namespace ulp {

/// D = A * B, or D = D + A * B where `onto_d`, in fp32 on one thread. A sum stays in a register while k runs.
void ieee_product_portable(const StridedProduct& product, bool onto_d);
void ieee_product_avx2(const StridedProduct& product, bool onto_d);
void ieee_product_avx512(const StridedProduct& product, bool onto_d);

/// sums(j) = sums(j) + a(k) * b(k, j) for each k in turn, in a format of at most 24 bits: each product and each sum is
/// rounded once from double. A row of A, B's rows with their elements beside each other, n sums.
///
/// A product of two fp32 has 48 bits; the sum of two numbers of at most 24 bits is either exact in double or rounds the
/// same from it (53 >= 2 * 24 + 2).
struct IeeeRow {
    std::int64_t n, k;
    const float* a;
    std::int64_t a_stride;
    const float* b;
    std::int64_t b_row_stride;
    float* sums;
};
void ieee_rounded_row_portable(const IeeeRow& row, const Rounder<double>& round);
void ieee_rounded_row_avx2(const IeeeRow& row, const Rounder<double>& round);
void ieee_rounded_row_avx512(const IeeeRow& row, const Rounder<double>& round);

}  // namespace ulp
