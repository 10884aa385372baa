// Float127: a floating-point number of 127 bits for the accurate phase of the functions. Plain and slow (a microsecond
// a function); the exponent never overflows.
//
//   value = (-1)^sign * significand * 2^exponent,   significand = 0 or 2^126 <= significand < 2^127
//
// Every operation is off by less than 2 units of the last place (relative 2^-125). A sum is jammed: where it is not
// exact its lowest bit is set, so that "1 + tiny" stays on the right side of 1 however small the tiny is.
#pragma once

#include "softfloat/arithmetic.hpp"

namespace ulp {

struct Float127 {
    bool sign = false;
    int exponent = 0;
    UInt128 significand = 0;

    static constexpr int precision = 127;

    constexpr Float127() = default;
    /// Normalises; bits that do not fit are jammed.
    constexpr Float127(bool negative, int power, UInt128 integer)
        : sign(negative), exponent(power), significand(integer) {
        const int up = precision - bit_length(significand);
        if (significand == 0) return;
        significand = up >= 0 ? significand << up : shift_right_jam(significand, -up);
        exponent -= up;
    }
    constexpr Float127(int integer)  // NOLINT(google-explicit-constructor): 1 + x must mean what it says
        : Float127(integer < 0, 0, static_cast<UInt128>(integer < 0 ? -static_cast<long long>(integer) : integer)) {}
    constexpr explicit Float127(const Unpacked<std::uint64_t>& x) : Float127(x.sign, x.exponent, x.significand) {}

    /// A constant from its 127 bits: 63 above, 64 below.
    static constexpr Float127 constant(int power, std::uint64_t high, std::uint64_t low) {
        return {false, power, static_cast<UInt128>(high) << 64 | low};
    }

    [[nodiscard]] constexpr bool is_zero() const { return significand == 0; }
    /// |x| lies in [2^leading(), 2^(leading() + 1)). Meaningless for zero.
    [[nodiscard]] constexpr int leading() const { return exponent + precision - 1; }
};

constexpr Float127 operator-(Float127 x) {
    x.sign = !x.sign;
    return x;
}
constexpr Float127 abs(Float127 x) {
    x.sign = false;
    return x;
}
/// x * 2^power, exact.
constexpr Float127 scale(Float127 x, int power) {
    x.exponent += power;
    return x;
}

constexpr Float127 operator+(const Float127& a, const Float127& b) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    const auto sum = add_exact<UInt128>({Kind::finite, a.sign, a.exponent, a.significand},
                                        {Kind::finite, b.sign, b.exponent, b.significand});
    return {sum.sign, sum.exponent, sum.significand};
}
constexpr Float127 operator-(const Float127& a, const Float127& b) { return a + -b; }

/// The upper half of the 256-bit product, schoolbook with four 64-bit products:
///
///     a1 a0 * b1 b0 = a1b1 * 2^128 + (a1b0 + a0b1) * 2^64 + a0b0
constexpr UInt128 multiply_high(UInt128 a, UInt128 b) {
    const auto low = [](UInt128 x) { return static_cast<UInt128>(static_cast<std::uint64_t>(x)); };
    const auto high = [](UInt128 x) { return x >> 64; };
    const UInt128 middle1 = high(a) * low(b) + high(low(a) * low(b));
    const UInt128 middle2 = low(a) * high(b) + low(middle1);
    return high(a) * high(b) + high(middle1) + high(middle2);
}
constexpr Float127 operator*(const Float127& a, const Float127& b) {
    if (a.is_zero() || b.is_zero()) return {};
    return {a.sign != b.sign, a.exponent + b.exponent + 126, multiply_high(a.significand << 1, b.significand << 1)};
}

/// Long division, one bit of the quotient at a time.
constexpr Float127 operator/(const Float127& a, const Float127& b) {
    UInt128 rest = a.significand;
    UInt128 quotient = 0;
    for (int i = 0; i < 128; ++i) {
        quotient <<= 1;
        if (rest >= b.significand) {
            rest -= b.significand;
            quotient |= 1;
        }
        rest <<= 1;
    }
    return {a.sign != b.sign, a.exponent - b.exponent - 127, quotient};
}
/// The same by a small positive integer, without the loop.
constexpr Float127 divide(const Float127& a, std::uint64_t divisor) {
    return {a.sign, a.exponent - 1, (a.significand << 1) / divisor};
}

constexpr bool operator<(const Float127& a, const Float127& b) {
    const Float127 difference = a - b;
    return difference.sign && !difference.is_zero();
}

/// The nearest integer, ties upward. |x| < 2^30.
constexpr int nearest_integer(const Float127& x) {
    const Float127 shifted = abs(x) + Float127{false, -1, 1};
    if (shifted.leading() < 0) return 0;
    const auto magnitude = static_cast<int>(shifted.significand >> -shifted.exponent);
    return x.sign ? -magnitude : magnitude;
}

static_assert(nearest_integer(Float127{5} / Float127{2}) == 3 && nearest_integer(Float127{-7} / Float127{3}) == -2);
static_assert(abs(Float127{1} / Float127{3} * Float127{3} - Float127{1}) < Float127(false, -124, 1));
static_assert((Float127{1} - Float127{false, -900, 1}) < Float127{1} &&
              Float127{1} < (Float127{1} + Float127{false, -900, 1}));
static_assert(divide(Float127{-21}, 7).significand == Float127{-3}.significand &&
              divide(Float127{-21}, 7).exponent == Float127{3}.exponent);

}  // namespace ulp
