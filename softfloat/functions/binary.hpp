// Functions of two operands: pow and hypot, in the same phases as those of one (evaluate.hpp).
#pragma once

#include "softfloat/functions/catalog.hpp"

namespace ulp::functions {

/// A nonzero number with an odd significand.
constexpr Operand odd_form(const Operand& x) {
    const int zeros = trailing_zeros(x.significand);
    return {x.kind, x.sign, x.exponent + zeros, x.significand >> zeros};
}

/// The square root if x is the square of a number with an odd significand.
constexpr std::optional<Operand> exact_root(const Operand& x) {
    const auto root = sqrt_exact(x, 32);  // an exact root has at most 12 bits; of any other the sticky bit is set
    if ((root.significand & 1) != 0) return std::nullopt;
    return odd_form(root);
}

/// x^y for finite nonzero operands where it is a number with at most 63 bits: all the exact results and all the ties.
///
/// With odd m and n, (m 2^e)^(n 2^-j) needs m 2^e to be a square j times over; then m^n must be short, and n positive
/// unless m is 1 (1/m is not a binary fraction).
constexpr Special exact_power(const Operand& base, const Operand& power, bool negative) {
    Operand x = odd_form(base);
    Operand y = odd_form(power);
    for (; y.exponent < 0; ++y.exponent) {
        if (x.significand == 1 && x.exponent == 0) break;
        const std::optional<Operand> root = exact_root(x);
        if (!root) return Special::none();
        x = *root;
    }
    if (x.significand == 1 && x.exponent == 0) return Special::number(negative, 0, 1);
    // |y| >= 2^16 takes any power of two beyond every format, and any other number beyond 63 bits.
    if (bit_length(y.significand) + y.exponent > 16) {
        if (x.significand != 1) return Special::none();
        const bool grows = (x.exponent > 0) != y.sign;
        return Special::number(negative, grows ? 1 << 16 : -(1 << 16), 1);
    }
    const auto n = static_cast<int>(y.significand << y.exponent);
    if (x.significand == 1) return Special::number(negative, y.sign ? -n * x.exponent : n * x.exponent, 1);
    if (y.sign || n > 40) return Special::none();  // 3^40 has 64 bits
    std::uint64_t product = 1;
    for (int i = 0; i < n; ++i) {
        if (bit_length(product) + bit_length(x.significand) > 63) return Special::none();
        product *= x.significand;
    }
    return Special::number(negative, n * x.exponent, product);
}

struct Pow {
    enum class Parity : std::uint8_t { fraction, odd, even };
    static constexpr Parity parity(const Operand& y) {
        if (y.kind != Kind::finite) return Parity::even;
        const int exponent = odd_form(y).exponent;
        return exponent < 0 ? Parity::fraction : (exponent == 0 ? Parity::odd : Parity::even);
    }
    /// pow(1, NaN) and pow(NaN, 0) are 1.
    static constexpr bool ignores_nan(const Operand& x, const Operand& y) {
        return (is_one(x) && !x.sign) || y.kind == Kind::zero;
    }
    static constexpr Special special(const Operand& x, const Operand& y) {
        if (ignores_nan(x, y)) return Special::number(false, 0, 1);
        const Parity whole = parity(y);
        const bool negative = x.sign && whole == Parity::odd;
        if (x.kind == Kind::zero) {
            if (!y.sign) return Special::zero(negative);
            return y.kind == Kind::infinity ? Special::infinity(false) : Special::pole(negative);
        }
        if (y.kind == Kind::infinity) {
            if (is_one(x)) return Special::number(false, 0, 1);  // (-1)^inf
            const bool large = x.kind == Kind::infinity || leading_exponent(x) >= 0;
            return large != y.sign ? Special::infinity(false) : Special::zero(false);
        }
        if (x.kind == Kind::infinity) return y.sign ? Special::zero(negative) : Special::infinity(negative);
        if (x.sign && whole == Parity::fraction) return Special::invalid();
        return exact_power(x, y, negative);
    }
    static constexpr bool negative(const Operand& x, const Operand& y) { return x.sign && parity(y) == Parity::odd; }
    /// log is within 2^-49, y log(x) is cut at 700, and 104 is the most that fp32 tolerates: 2^-42 in all.
    static constexpr double quick(const Operand& x, const Operand& y) {
        const double base = to_double(x);
        const double magnitude = quick_phase::exp(to_double(y) * quick_phase::log(base < 0 ? -base : base));
        return negative(x, y) ? -magnitude : magnitude;
    }
    static constexpr Float127 accurate(const Operand& x, const Operand& y) {
        const Float127 magnitude = accurate_phase::exp(Float127{y} * accurate_phase::log(abs(Float127{x})));
        return negative(x, y) ? -magnitude : magnitude;
    }
};

/// sqrt(x^2 + y^2), exact but for a sticky lowest bit, for finite nonzero operands of up to 24 bits.
///
/// Up to 2^40 apart the sum of the squares fits into 128 bits; farther apart the root is the larger operand and less
/// than 2^-81 of it more.
constexpr Unpacked<UInt128> hypot_exact(const Operand& x, const Operand& y) {
    Unpacked<UInt128> a{Kind::finite, false, x.exponent, x.significand};
    Unpacked<UInt128> b{Kind::finite, false, y.exponent, y.significand};
    if (a.exponent + bit_length(a.significand) < b.exponent + bit_length(b.significand)) std::swap(a, b);
    const int up_a = 24 - bit_length(a.significand);
    const int up_b = 24 - bit_length(b.significand);
    a = {Kind::finite, false, a.exponent - up_a, a.significand << up_a};
    b = {Kind::finite, false, b.exponent - up_b, b.significand << up_b};
    const int gap = a.exponent - b.exponent;
    if (gap > 39) return {Kind::finite, false, a.exponent - 64, a.significand << 64 | 1};
    const UInt128 aligned = a.significand << gap;
    const UInt128 sum = aligned * aligned + b.significand * b.significand;
    return sqrt_exact<UInt128>({Kind::finite, false, 2 * b.exponent, sum}, 62);
}

}  // namespace ulp::functions

namespace ulp {

/// x^y.
constexpr std::uint64_t pow_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    using functions::Pow;
    require_supported(format);
    const auto x = operand<std::uint64_t>(format, a, context);
    const auto y = operand<std::uint64_t>(format, b, context);
    const bool signaling = is_signaling(format, a) || is_signaling(format, b);
    if ((x.kind == Kind::nan || y.kind == Kind::nan) && (signaling || !Pow::ignores_nan(x, y))) {
        return propagate_nan(format, a, b, context);
    }
    const Special special = Pow::special(x, y);
    if (special.rule != Special::Rule::compute) return special_bits(format, special, context);
    if (within_fp32(format) && support::has_default_arithmetic()) {
        const Decision quick = round_quick(format, Pow::quick(x, y), context);
        if (quick.decided) return quick.bits;
    }
    return round_accurate(format, Pow::accurate(x, y), context);
}

/// sqrt(x^2 + y^2), without overflow or underflow on the way. hypot(infinity, NaN) is infinity.
constexpr std::uint64_t hypot_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    require_supported(format);
    const auto x = operand<std::uint64_t>(format, a, context);
    const auto y = operand<std::uint64_t>(format, b, context);
    const bool infinite = x.kind == Kind::infinity || y.kind == Kind::infinity;
    const bool signaling = is_signaling(format, a) || is_signaling(format, b);
    if ((x.kind == Kind::nan || y.kind == Kind::nan) && (signaling || !infinite)) {
        return propagate_nan(format, a, b, context);
    }
    if (infinite) return infinite_bits(format, false, context);
    if (x.kind == Kind::zero) return round_to_bits(format, false, y.exponent, y.significand, context);
    if (y.kind == Kind::zero) return round_to_bits(format, false, x.exponent, x.significand, context);
    const auto root = functions::hypot_exact(x, y);
    return round_to_bits(format, false, root.exponent, root.significand, context);
}

}  // namespace ulp
