// Finite decimal numbers of any length: what binary numbers are exactly, and what people write.
#pragma once

#include <string>

#include "softfloat/round.hpp"

namespace ulp {

/// 0.DIGITS * 10^point: digits without leading or trailing zeros; empty for zero.
struct Decimal {
    std::string digits;
    int point = 0;
};

/// Removes leading and trailing zeros.
void drop_zeros(Decimal& decimal);

/// All digits of significand * 2^exponent. A negative exponent -k becomes 5^k / 10^k.
Decimal exact_decimal(const Unpacked<std::uint64_t>& value);

/// The digits with their point; beyond 10^-3 .. 10^16 with an exponent, if that is allowed.
std::string layout(const Decimal& decimal, bool sign, bool allow_exponent);

/// The decimal correctly rounded to the format, however long it is.
std::uint64_t round_decimal(const FloatFormat& format, bool sign, const Decimal& decimal, Context& context);

/// A decimal with a sign.
struct SignedDecimal {
    bool negative = false;
    Decimal size;
};

/// a - b, exactly. (The exponents must lie within some thousands of each other: all digits between are kept.)
SignedDecimal difference(const SignedDecimal& a, const SignedDecimal& b);

}  // namespace ulp
