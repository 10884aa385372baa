#include "softfloat/decimal.hpp"

#include <algorithm>

#include "softfloat/support/big_integer.hpp"

namespace ulp {

void drop_zeros(Decimal& decimal) {
    const auto last = decimal.digits.find_last_not_of('0');
    decimal.digits.erase(last == std::string::npos ? 0 : last + 1);
    const auto first = decimal.digits.find_first_not_of('0');
    if (first != std::string::npos && first > 0) {
        decimal.digits.erase(0, first);
        decimal.point -= static_cast<int>(first);
    }
}

Decimal exact_decimal(const Unpacked<std::uint64_t>& value) {
    BigInteger scaled(value.significand);
    for (int k = value.exponent; k < 0; ++k) scaled.multiply_add(5, 0);
    if (value.exponent > 0) scaled.shift_left(value.exponent);
    Decimal decimal{scaled.to_decimal(), 0};
    decimal.point = static_cast<int>(decimal.digits.size()) + (value.exponent < 0 ? value.exponent : 0);
    drop_zeros(decimal);
    return decimal;
}

std::string layout(const Decimal& decimal, bool sign, bool allow_exponent) {
    std::string text = sign ? "-" : "";
    const std::string& digits = decimal.digits;
    if (digits.empty()) return text + "0";
    const int count = static_cast<int>(digits.size());
    if (allow_exponent && (decimal.point < -3 || decimal.point > 16)) {
        text += digits[0];
        if (count > 1) text += "." + digits.substr(1);
        return text + "e" + std::to_string(decimal.point - 1);
    }
    if (decimal.point <= 0) return text + "0." + std::string(static_cast<std::size_t>(-decimal.point), '0') + digits;
    if (decimal.point >= count)
        return text + digits + std::string(static_cast<std::size_t>(decimal.point - count), '0');
    const auto point = static_cast<std::size_t>(decimal.point);
    return text + digits.substr(0, point) + "." + digits.substr(point);
}

std::uint64_t round_decimal(const FloatFormat& format, bool sign, const Decimal& decimal, Context& context) {
    constexpr std::uint64_t one = 1;
    if (decimal.digits.empty()) return zero_bits(format, sign, context);
    // Beyond the format (10^400 is beyond 2^1328), before the numbers below grow without need.
    if (decimal.point > std::max(400, format.emax() / 3)) return round_to_bits(format, sign, 100000, one, context);
    if (decimal.point < std::min(-400, format.smallest_exponent() / 3)) {
        return round_to_bits(format, sign, -100000, one, context);
    }
    BigInteger numerator;
    for (const char digit : decimal.digits) numerator.multiply_add(10, static_cast<std::uint32_t>(digit - '0'));
    BigInteger denominator(1);
    const int power = decimal.point - static_cast<int>(decimal.digits.size());
    (power >= 0 ? numerator : denominator).multiply_by_power_of_ten(power >= 0 ? power : -power);

    // Scale so that the quotient has 65 or 66 bits, take 64 and more off bit by bit, and jam the remainder.
    const int exponent = numerator.length_in_bits() - denominator.length_in_bits() - 64;
    if (exponent > 0) denominator.shift_left(exponent);
    if (exponent < 0) numerator.shift_left(-exponent);
    UInt128 quotient = 0;
    denominator.shift_left(66);
    for (int bit = 66; bit >= 0; --bit) {
        quotient <<= 1;
        if (numerator.at_least(denominator)) {
            numerator.subtract(denominator);
            quotient |= 1;
        }
        if (bit > 0) numerator.shift_left(1);
    }
    quotient = quotient << 1 | (numerator.is_zero() ? 0 : 1);
    return round_to_bits(format, sign, exponent - 1, quotient, context);
}

SignedDecimal difference(const SignedDecimal& a, const SignedDecimal& b) {
    // Both as integers times the same power of ten.
    const auto last_place = [](const Decimal& x) { return x.point - static_cast<int>(x.digits.size()); };
    const int place = std::min(last_place(a.size), last_place(b.size));
    const auto as_integer = [&](const Decimal& x) {
        BigInteger integer;
        for (const char digit : x.digits) integer.multiply_add(10, static_cast<std::uint32_t>(digit - '0'));
        integer.multiply_by_power_of_ten(last_place(x) - place);
        return integer;
    };
    BigInteger left = as_integer(a.size);
    BigInteger right = as_integer(b.size);
    SignedDecimal result{a.negative, {}};
    if (a.negative != b.negative) {
        left.add(right);
    } else if (left.at_least(right)) {
        left.subtract(right);
    } else {
        right.subtract(left);
        left = right;
        result.negative = !a.negative;
    }
    if (left.is_zero()) return {};
    result.size.digits = left.to_decimal();
    result.size.point = static_cast<int>(result.size.digits.size()) + place;
    drop_zeros(result.size);
    return result;
}

}  // namespace ulp
