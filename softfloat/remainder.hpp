// The IEEE remainder on storage words.
#pragma once

#include "softfloat/arithmetic.hpp"

namespace ulp {

/// a - n * b with n the integer nearest to a / b, ties to even (IEEE 754-2019 section 5.3.1); operands finite, b not 0.
/// Always exact. Long division, as many bits of the quotient at a time as the word has room for; of the quotient only
/// the last bit matters.
template <class Word>
constexpr Unpacked<Word> remainder_exact(const Unpacked<Word>& a, const Unpacked<Word>& b) {
    Word divisor = b.significand;
    int distance = a.exponent - b.exponent;
    int exponent = b.exponent;
    if (distance < 0) {
        // b is brought to a's exponent, unless that shows |a| < |b| / 2: then a is the remainder.
        if (bit_length(divisor) - distance > word_bits<Word> - 2) return a;
        divisor <<= -distance;
        exponent = a.exponent;
        distance = 0;
    }
    Word rest = a.significand % divisor;
    bool odd = ((a.significand / divisor) & 1) != 0;
    const int room = word_bits<Word> - 1 - bit_length(divisor);
    while (distance > 0) {
        const int step = distance < room ? distance : room;
        rest <<= step;
        odd = ((rest / divisor) & 1) != 0;
        rest %= divisor;
        distance -= step;
    }
    const Word other = divisor - rest;
    const bool nearer = rest > other || (rest == other && odd);
    if (rest == 0) return {Kind::zero, a.sign, 0, 0};
    return {Kind::finite, a.sign != nearer, exponent, nearer ? other : rest};
}

template <class Word>
constexpr std::uint64_t remainder_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
    const auto x = operand<Word>(format, a, context);
    const auto y = operand<Word>(format, b, context);
    if (x.kind == Kind::infinity || y.kind == Kind::zero) return invalid_bits(format, context);
    if (x.kind == Kind::zero) return zero_bits(format, x.sign, context);
    const auto rest = y.kind == Kind::infinity ? x : remainder_exact(x, y);
    if (rest.kind == Kind::zero) return zero_bits(format, rest.sign, context);
    return round_to_bits(format, rest.sign, rest.exponent, rest.significand, context);
}

}  // namespace ulp
