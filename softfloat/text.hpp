// Numbers as text, both ways: short decimals that read back, hexadecimal floats, bits.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "softfloat/decimal.hpp"
#include "softfloat/float.hpp"

namespace ulp {

/// Integers below 2^24 with all their digits, "65504". Other numbers with the fewest digits that read back (to nearest
/// even) as the same number; among those the closest: "0.1", "6e-8". "inf", "-inf", "nan" for the specials.
std::string to_decimal(const FloatFormat& format, std::uint64_t bits);

/// All digits of the value: finite binary numbers are finite decimals. "0.0999755859375".
std::string to_exact_decimal(const FloatFormat& format, std::uint64_t bits);

/// C's hexadecimal float, exact: "0x1.998p-4"; subnormals with their leading zero: "0x0.004p-14".
std::string to_hex_float(const FloatFormat& format, std::uint64_t bits);

/// An odd integer times a power of two: "+3p-2" is 3 * 2^-2. "0", "-0", "+inf", "-inf", "nan" (as P3109's tables of
/// values have them).
std::string to_exact_code(const FloatFormat& format, std::uint64_t bits);

/// Sign, exponent and fraction in binary: "0 01011 1001100110".
std::string to_bit_string(const FloatFormat& format, std::uint64_t bits);

/// The storage word in hexadecimal, all digits: "2E66".
std::string to_hex_bits(const FloatFormat& format, std::uint64_t bits);

/// Reads a decimal ("-1.5e-3"), a hexadecimal float ("0x1.8p-10"), "inf", "infinity" or "nan", in any case, with a
/// sign or without, correctly rounded in the context's mode however long the text. NaN is invalid where the format has
/// none, and gives its largest number. Throws std::invalid_argument where the text is not a number.
std::uint64_t parse_bits(const FloatFormat& format, std::string_view text, Context& context);

/// The number that a text as for parse_bits stands for, exactly; nothing for infinities and NaN, and for hexadecimal
/// floats that fp64 does not hold. Throws std::invalid_argument where the text is not a number.
std::optional<SignedDecimal> parse_decimal(std::string_view text);

template <FloatFormat F>
std::string to_decimal(Float<F> x) {
    return to_decimal(F, x.bits());
}
template <FloatFormat F>
std::string to_hex_float(Float<F> x) {
    return to_hex_float(F, x.bits());
}
template <FloatFormat F>
std::string to_bit_string(Float<F> x) {
    return to_bit_string(F, x.bits());
}
/// parse<ulp::fp16>("0.1")
template <class T>
T parse(std::string_view text) {
    Context context;
    return T::from_bits(static_cast<typename T::Bits>(parse_bits(T::format, text, context)));
}
template <FloatFormat F>
std::ostream& operator<<(std::ostream& out, Float<F> x) {
    return out << to_decimal(x);
}

}  // namespace ulp
