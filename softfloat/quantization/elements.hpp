// From numbers to elements: the statistic of a block, the scaling, the rounding, and the error that they leave.
#pragma once

#include <span>

#include "softfloat/quantization/layout.hpp"
#include "softfloat/quantization/quantize.hpp"

namespace ulp {

/// The statistic of a block's numbers, as the row defines it.
float statistic_of(const Quantization& how, const Stretch& block);
/// The largest magnitude of a block, infinities and NaNs as the row counts them.
float largest_magnitude(const Quantization& how, const Stretch& block);

/// Multiplies by `encode`, or divides by `decode` where the row says so; zeros where decode is zero without an encode,
/// or NaN.
void scale_numbers(const Quantization& how, const Stretch& block, float encode, float decode);

/// The zero point of a block of whole numbers whose scale is `decode`.
float zero_point_of(const Quantization& how, const Stretch& block, float decode);
/// Rounds scaled numbers to whole ones, from which the zero point is subtracted.
void round_whole_numbers(const ElementRule& rule, std::span<float> scaled, float zero_point);

/// Rounds scaled numbers to elements; context.first is the place of the first in the stream of random numbers.
void round_elements(const Quantization& how, std::span<float> scaled, const Context& context);

/// The context with its streams' numbers.
Context with_stream(Context context, std::uint64_t seed, std::uint64_t stream);

/// What a block's elements under this scale miss of its numbers, rounded to nearest.
float error_of(const Quantization& how, const Stretch& block, float encode, float decode);

}  // namespace ulp
