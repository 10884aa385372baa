// Steps along the format's grid and along powers of two: next up and down, scalb, logb.
#pragma once

#include "softfloat/arithmetic.hpp"

namespace ulp {

/// IEEE 754-2019 section 5.3.1: the least number above (nextUp) or the greatest below (nextDown). Beyond the largest
/// number comes what the format has for infinity; below the smallest of a format without sign, NaN.
constexpr std::uint64_t next_up_bits(const FloatFormat& format, std::uint64_t bits, Context& context) {
    if (is_nan(format, bits)) return propagate_nan(format, bits, bits, context);
    ULPLAB_OF_TABLE(format, tables::neighbour(format, bits, true));
    const bool sign = sign_of(format, bits);
    const std::uint64_t magnitude = magnitude_of(format, bits);
    if (is_infinity(format, bits)) return sign ? pack(format, true, format.max_finite_magnitude()) : bits;
    if (sign && magnitude != 0) return pack(format, true, magnitude - 1);
    return magnitude == format.max_finite_magnitude() ? beyond_bits(format, false) : pack(format, false, magnitude + 1);
}
constexpr std::uint64_t next_down_bits(const FloatFormat& format, std::uint64_t bits, Context& context) {
    if (is_nan(format, bits)) return propagate_nan(format, bits, bits, context);
    ULPLAB_OF_TABLE(format, tables::neighbour(format, bits, false));
    const bool sign = sign_of(format, bits);
    const std::uint64_t magnitude = magnitude_of(format, bits);
    if (is_infinity(format, bits)) return sign ? bits : pack(format, false, format.max_finite_magnitude());
    if (!sign && magnitude != 0) return pack(format, false, magnitude - 1);
    if (!format.has_sign) return nan_bits(format);
    return magnitude == format.max_finite_magnitude() ? beyond_bits(format, true) : pack(format, true, magnitude + 1);
}

/// x * 2^n, rounded once.
constexpr std::uint64_t scalb_bits(const FloatFormat& format, std::uint64_t bits, int n, Context& context) {
    if (is_nan(format, bits)) return propagate_nan(format, bits, bits, context);
    const auto value = operand<std::uint64_t>(format, bits, context);
    if (value.kind == Kind::infinity) return infinite_bits(format, value.sign, context);
    if (value.kind == Kind::zero) return zero_bits(format, value.sign, context);
    // No format spans 100,000 powers of two: more of them change nothing.
    const int step = n > 100000 ? 100000 : n < -100000 ? -100000 : n;
    return round_to_bits(format, value.sign, value.exponent + step, value.significand, context);
}

/// The exponent e of |x| = m * 2^e with 1 <= m < 2, as a number of the format (rounded, where the format has too few
/// bits for it). Zero gives minus infinity and raises divide_by_zero; an infinity gives plus infinity.
constexpr std::uint64_t logb_bits(const FloatFormat& format, std::uint64_t bits, Context& context) {
    if (is_nan(format, bits)) return propagate_nan(format, bits, bits, context);
    const auto value = operand<std::uint64_t>(format, bits, context);
    if (value.kind == Kind::infinity) return infinite_bits(format, false, context);
    if (value.kind == Kind::zero) {
        context.flags |= flag::divide_by_zero;
        return infinite_bits(format, true, context);
    }
    const int exponent = value.exponent + bit_length(value.significand) - 1;
    const auto size = static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent);
    return round_to_bits(format, exponent < 0, 0, size, context);
}

}  // namespace ulp
