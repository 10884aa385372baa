// Integers and floating-point numbers: conversions both ways, and rounding to an integral value.
#pragma once

#include "softfloat/arithmetic.hpp"

namespace ulp {

/// An integer rounded to the format.
template <class Integer>
constexpr std::uint64_t bits_from_integer(const FloatFormat& format, Integer value, Context& context) {
    const bool negative = value < 0;
    const auto wide = static_cast<std::uint64_t>(value);
    return round_to_bits(format, negative, 0, negative ? std::uint64_t{0} - wide : wide, context);
}

/// The value rounded to an integer by the context's rounding (odd: to an odd integer, as TestFloat has it). NaN,
/// infinities and values out of range raise invalid and give the x86 "integer indefinite": the smallest integer of a
/// signed type, the largest of an unsigned one.
template <class Integer>
constexpr Integer integer_from_bits(const FloatFormat& format, std::uint64_t bits, Context& context) {
    using Unsigned = std::make_unsigned_t<Integer>;
    constexpr int width = word_bits<Integer>;
    constexpr Unsigned sign_bit = static_cast<Unsigned>(Unsigned{1} << (width - 1));
    constexpr Unsigned indefinite = std::is_signed_v<Integer> ? sign_bit : static_cast<Unsigned>(-1);
    const auto value = operand<std::uint64_t>(format, bits, context);
    if (value.kind == Kind::zero) return 0;
    bool representable =
        value.kind == Kind::finite && value.exponent + bit_length(value.significand) <= 64 && can_round(context);
    std::uint64_t magnitude = 0;
    bool inexact = false;
    if (representable) {
        const auto [kept, discarded] = split_at(value.significand, -value.exponent, context.random_bits);
        const bool up = rounds_up(context, value.sign, (kept & 1) != 0, discarded);
        magnitude = kept + (up ? 1 : 0);
        inexact = discarded.any();
        const std::uint64_t limit = std::is_signed_v<Integer> ? std::uint64_t{sign_bit} - (value.sign ? 0 : 1)
                                    : value.sign              ? 0
                                                              : std::uint64_t{static_cast<Unsigned>(-1)};
        representable = magnitude <= limit && !(up && kept == ~std::uint64_t{0});
    }
    if (!representable) {
        context.flags |= flag::invalid;
        return static_cast<Integer>(indefinite);
    }
    if (inexact) context.flags |= flag::inexact;
    return static_cast<Integer>(value.sign ? std::uint64_t{0} - magnitude : magnitude);
}

/// The value rounded to an integral one in the same format, by the context's rounding (odd: to an odd integer). Raises
/// inexact where the value changes (roundToIntegralExact of IEEE 754-2019 section 5.9) unless `exact` is false. Where
/// the largest number is not integral (OCP E2M3: 7.5), rounding up may overflow.
constexpr std::uint64_t round_to_integral_bits(const FloatFormat& format, std::uint64_t bits, Context& context,
                                               bool exact = true) {
    if (is_nan(format, bits)) return propagate_nan(format, bits, bits, context);
    const auto value = operand<std::uint64_t>(format, bits, context);
    if (value.kind == Kind::infinity) return infinite_bits(format, value.sign, context);
    if (value.kind == Kind::zero) return zero_bits(format, value.sign, context);
    if (value.exponent >= 0) return round_to_bits(format, value.sign, value.exponent, value.significand, context);
    if (!can_round(context)) return invalid_bits(format, context);
    const auto [kept, discarded] = split_at(value.significand, -value.exponent, context.random_bits);
    const std::uint64_t integer = kept + (rounds_up(context, value.sign, (kept & 1) != 0, discarded) ? 1 : 0);
    if (discarded.any() && exact) context.flags |= flag::inexact;
    return round_to_bits(format, value.sign, 0, integer, context);
}

}  // namespace ulp
