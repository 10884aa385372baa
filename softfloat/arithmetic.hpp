// + - * / sqrt and fma on storage words, in integer arithmetic: unpack, compute exactly (or with a sticky bit), round
// once. `Word` is the integer that holds exact significands: std::uint64_t up to precision 24, UInt128 up to 53.
#pragma once

#include <type_traits>
#include <utility>

#include "softfloat/round.hpp"

namespace ulp {

/// The word that a format's operations need.
template <FloatFormat F>
using WordFor = std::conditional_t<F.precision() <= 24, std::uint64_t, UInt128>;

/// The result where an operand is NaN: the one quiet NaN, and invalid if an operand signals.
constexpr std::uint64_t propagate_nan(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_signaling(format, a) || is_signaling(format, b)) context.flags |= flag::invalid;
    return nan_bits(format);
}

/// The sign of an exact zero sum of terms of different signs (IEEE 754-2019 section 6.3).
constexpr bool zero_sum_sign(bool sign_a, bool sign_b, const Context& context) {
    return sign_a == sign_b ? sign_a : context.rounding == Rounding::down;
}

/// a + b of finite nonzero values, exact but for a sticky lowest bit. The result has kind zero if they cancel.
///
/// The term with the larger leading bit is moved to the top of the word, so that whatever falls off the other one is
/// far below the last place of any result:
///
///     0 1aaaaaaaaaaa 00000000000000
///     0 000001bbbbbb bbbbbbbbbbbbbs     s: the OR of the bits shifted out
template <class Word>
constexpr Unpacked<Word> add_exact(Unpacked<Word> a, Unpacked<Word> b) {
    constexpr int top = word_bits<Word> - 1;
    if (b.exponent + bit_length(b.significand) > a.exponent + bit_length(a.significand)) std::swap(a, b);
    const int up = top - bit_length(a.significand);
    a.significand <<= up;
    a.exponent -= up;
    const int distance = b.exponent - a.exponent;
    b.significand = distance >= 0 ? b.significand << distance : shift_right_jam(b.significand, -distance);
    if (a.sign == b.sign) {
        a.significand += b.significand;
    } else if (a.significand >= b.significand) {
        a.significand -= b.significand;
    } else {
        a.significand = b.significand - a.significand;
        a.sign = b.sign;
    }
    if (a.significand == 0) a.kind = Kind::zero;
    return a;
}

/// Rounds the sum of two operands of which neither is NaN.
template <class Word>
constexpr std::uint64_t round_sum(const FloatFormat& format, const Unpacked<Word>& a, const Unpacked<Word>& b,
                                  Context& context) {
    if (a.kind == Kind::infinity || b.kind == Kind::infinity) {
        if (a.kind == b.kind && a.sign != b.sign) return invalid_bits(format, context);
        return infinite_bits(format, a.kind == Kind::infinity ? a.sign : b.sign, context);
    }
    if (a.kind == Kind::zero && b.kind == Kind::zero) {
        return zero_bits(format, zero_sum_sign(a.sign, b.sign, context), context);
    }
    if (a.kind == Kind::zero) return round_to_bits(format, b.sign, b.exponent, b.significand, context);
    if (b.kind == Kind::zero) return round_to_bits(format, a.sign, a.exponent, a.significand, context);
    const auto sum = add_exact(a, b);
    if (sum.kind == Kind::zero) return zero_bits(format, zero_sum_sign(a.sign, b.sign, context), context);
    return round_to_bits(format, sum.sign, sum.exponent, sum.significand, context);
}

template <class Word>
constexpr std::uint64_t add_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
    return round_sum(format, operand<Word>(format, a, context), operand<Word>(format, b, context), context);
}

template <class Word>
constexpr std::uint64_t subtract_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
    auto minus_b = operand<Word>(format, b, context);
    minus_b.sign = !minus_b.sign;
    return round_sum(format, operand<Word>(format, a, context), minus_b, context);
}

/// The product of operands that are not NaN, exact. Infinity times zero comes back as kind nan.
template <class Word>
constexpr Unpacked<Word> multiply_exact(const Unpacked<Word>& a, const Unpacked<Word>& b) {
    const bool sign = a.sign != b.sign;
    if (a.kind == Kind::infinity || b.kind == Kind::infinity) {
        const bool zero = a.kind == Kind::zero || b.kind == Kind::zero;
        return {zero ? Kind::nan : Kind::infinity, sign, 0, 0};
    }
    if (a.kind == Kind::zero || b.kind == Kind::zero) return {Kind::zero, sign, 0, 0};
    return {Kind::finite, sign, a.exponent + b.exponent, a.significand * b.significand};
}

template <class Word>
constexpr std::uint64_t multiply_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
    const auto product = multiply_exact(operand<Word>(format, a, context), operand<Word>(format, b, context));
    switch (product.kind) {
        case Kind::nan: return invalid_bits(format, context);
        case Kind::infinity: return infinite_bits(format, product.sign, context);
        case Kind::zero: return zero_bits(format, product.sign, context);
        case Kind::finite: break;
    }
    return round_to_bits(format, product.sign, product.exponent, product.significand, context);
}

/// a * b + c with one rounding. Infinity times zero is invalid even where c is NaN.
template <class Word>
constexpr std::uint64_t fma_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                 Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) {
        if (is_signaling(format, c)) context.flags |= flag::invalid;
        return propagate_nan(format, a, b, context);
    }
    const auto product = multiply_exact(operand<Word>(format, a, context), operand<Word>(format, b, context));
    if (product.kind == Kind::nan) return invalid_bits(format, context);
    if (is_nan(format, c)) return propagate_nan(format, c, c, context);
    return round_sum(format, product, operand<Word>(format, c, context), context);
}

/// The quotient's leading bits and a sticky bit: at least word_bits - precision of them; with `more`, at least
/// word_bits - 2, enough for stochastic rounding.
template <class Word>
constexpr Unpacked<Word> divide_exact(const Unpacked<Word>& a, const Unpacked<Word>& b, int precision, bool more) {
    const int up_a = word_bits<Word> - 1 - bit_length(a.significand);
    const int up_b = precision - bit_length(b.significand);  // a subnormal divisor fills the precision first
    const Word dividend = a.significand << up_a;
    const Word divisor = b.significand << up_b;
    Word quotient = dividend / divisor;
    Word rest = dividend - quotient * divisor;
    int exponent = a.exponent - up_a - (b.exponent - up_b);
    if (more) {
        const int extra = precision > 2 ? precision - 2 : 0;
        quotient = quotient << extra | (rest << extra) / divisor;
        rest = (rest << extra) % divisor;
        exponent -= extra;
    }
    // One place more, so that the sticky bit stands below the quotient's own last bit.
    return {Kind::finite, a.sign != b.sign, exponent - 1, static_cast<Word>(quotient << 1 | (rest != 0 ? 1 : 0))};
}

template <class Word>
constexpr std::uint64_t divide_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
    const auto numerator = operand<Word>(format, a, context);
    const auto denominator = operand<Word>(format, b, context);
    const bool sign = numerator.sign != denominator.sign;
    if (numerator.kind == denominator.kind && numerator.kind != Kind::finite) return invalid_bits(format, context);
    if (numerator.kind == Kind::infinity) return infinite_bits(format, sign, context);
    if (numerator.kind == Kind::zero || denominator.kind == Kind::infinity) return zero_bits(format, sign, context);
    if (denominator.kind == Kind::zero) {
        context.flags |= flag::divide_by_zero;
        return infinite_bits(format, sign, context);
    }
    const auto quotient = divide_exact(numerator, denominator, format.precision(), is_stochastic(context.rounding));
    return round_to_bits(format, sign, quotient.exponent, quotient.significand, context);
}

/// The first `digits` bits of the square root of a positive finite value, and a sticky bit below them: long-hand, two
/// bits of the radicand for each bit of the root.
template <class Word>
constexpr Unpacked<Word> sqrt_exact(const Unpacked<Word>& a, int digits) {
    // The radicand's bits in pairs, from the top; past its end come zeros.
    int position = bit_length(a.significand);
    if (((a.exponent + position) & 1) != 0) ++position;
    const int exponent = (a.exponent + position) / 2 - digits;
    Word root = 0;
    Word rest = 0;
    for (int digit = 0; digit < digits; ++digit) {
        position -= 2;
        const Word pair = position >= 0    ? a.significand >> position & 3
                          : position == -1 ? a.significand << 1 & 3
                                           : Word{0};
        rest = rest << 2 | pair;
        const Word trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    // What is left of the radicand counts for the sticky bit, too.
    if (position > 0 && (a.significand & ((Word{1} << position) - 1)) != 0) rest |= 1;
    return {Kind::finite, false, exponent - 1, static_cast<Word>(root << 1 | (rest != 0 ? 1 : 0))};
}

template <class Word>
constexpr std::uint64_t sqrt_bits(const FloatFormat& format, std::uint64_t a, Context& context) {
    if (is_nan(format, a)) return propagate_nan(format, a, a, context);
    const auto value = operand<Word>(format, a, context);
    if (value.kind == Kind::zero) return zero_bits(format, value.sign, context);
    if (value.sign) return invalid_bits(format, context);
    if (value.kind == Kind::infinity) return infinite_bits(format, false, context);
    const int digits = format.precision() + 2 + (is_stochastic(context.rounding) ? context.random_bits : 0);
    const auto root = sqrt_exact(value, digits);
    return round_to_bits(format, false, root.exponent, root.significand, context);
}

}  // namespace ulp
