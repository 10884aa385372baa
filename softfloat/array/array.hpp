// Operations on arrays, vectorised for AVX2 and AVX-512 with a choice at run time (softfloat/simd_choice.hpp), with the
// bits of the scalar operations element by element. One thread each; give threads pieces of the arrays.
//
//     ulp::round_array(ulp::formats::bf16, weights);                                     // in place, nearest even
//     ulp::round_array(ulp::formats::e4m3, x, y, {.rounding = ulp::Rounding::stochastic, .seed = 7});
//
// All of them throw std::invalid_argument for spans of different sizes and for random_bits outside 1 to 32 where the
// rounding is stochastic. Spans of input and output are the same or do not overlap.
#pragma once

#include <span>

#include "softfloat/array/context.hpp"
#include "softfloat/format.hpp"
#include "softfloat/simd_choice.hpp"

namespace ulp {

/// to[i] = round_to(format, from[i]): rounded to the format's grid, in fp32. Any format.
void round_array(const FloatFormat& format, std::span<const float> from, std::span<float> to,
                 const ArrayContext& context = {}, Simd simd = simd_choice());
/// In place.
void round_array(const FloatFormat& format, std::span<float> values, const ArrayContext& context = {},
                 Simd simd = simd_choice());

}  // namespace ulp
