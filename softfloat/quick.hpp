// The fast path through the processor's fp64: the operators, to nearest even without flags; and the operations with a
// Context wherever the result is a normal number, in every deterministic mode with flags.
//
// Every number of a format with at most 24 significant bits and 8 exponent bits is a normal fp64 number. A product of
// two is exact there (48 bits); sums, quotients and square roots are rounded to 53 bits first, and since 53 >= 2 * 24 +
// 2 a second rounding to 24 bits or less gives what a single one would (Figueroa, "When is double rounding innocuous?",
// 1995). Subnormals of the format are no exception: fp64 has as many bits for them. A fused multiply-add has no such
// theorem; its sum is rounded to odd. The plain definitions are in arithmetic.hpp, and a test compares the two.
//
// Contraction to fused multiply-adds changes nothing here: the products are exact.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "softfloat/round.hpp"
#include "softfloat/support/processor_rounding.hpp"

namespace ulp::quick {

constexpr bool covers(const FloatFormat& format) {
    return format.has_sign && format.has_subnormals && format.precision() <= 24 && format.exponent_bits <= 8 &&
           format.unused_exponents == 0 && format.specials <= Specials::none && !format.even_codes &&
           !format.saturation && !format.largest_for_infinity;
}

/// Whether this evaluation goes through fp64: not in constant expressions (1 / 0 is none in fp64), not on a GPU, where
/// the integer path is as fast, and not where the processor rounds otherwise than to nearest. (Whether it flushes
/// subnormals plays no part: all numbers here are zeros or normal in fp64.)
constexpr bool available() {
#ifdef __CUDA_ARCH__
    return false;
#else
    if (std::is_constant_evaluated()) return false;
    return __builtin_expect(support::rounds_to_nearest() ? 1 : 0, 1) != 0;
#endif
}

/// The number as an fp64 number: exact. Which NaN a NaN becomes is not specified.
template <FloatFormat F>
constexpr double widen(std::uint64_t bits) {
    constexpr double smallest_normal = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + F.emin()) << 52);
    constexpr auto rebias = static_cast<std::uint64_t>(1023 - F.bias);
    constexpr std::uint64_t to_specials = 2047 - (rebias + (std::uint64_t{1} << F.exponent_bits) - 1);
    const std::uint64_t sign = static_cast<std::uint64_t>(sign_of(F, bits)) << 63;
    const std::uint64_t magnitude = magnitude_of(F, bits);
    // A subnormal 0.f * 2^emin is 1.f * 2^emin - 2^emin. Codes beyond the numbers become infinity and NaN.
    const bool subnormal = magnitude <= F.fraction_mask();
    const std::uint64_t field = rebias + (subnormal ? 1 : 0) + (magnitude > F.max_finite_magnitude() ? to_specials : 0);
    const double shifted = std::bit_cast<double>((magnitude << (52 - F.fraction_bits)) + (field << 52));
    const double size = shifted - (subnormal ? smallest_normal : 0.0);
    const double x = std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | sign);
    if constexpr (F.specials == Specials::negative_zero_nan) {
        return is_nan(F, bits) ? std::bit_cast<double>(std::uint64_t{0xFFF} << 51) : x;
    }
    return x;
}

/// An fp64 number rounded to the format, to nearest even: its storage word.
///
///     2^(binade+52-fraction_bits) + |x|:   1 000000000 kkkkkkkkk    the processor rounds, the units are the
///                                          52-bit fraction -----    format's units in the last place
template <FloatFormat F>
constexpr std::uint64_t narrow(double x) {
    constexpr std::uint64_t lowest = static_cast<std::uint64_t>(1023 + F.emin());
    constexpr std::uint64_t too_large = static_cast<std::uint64_t>(1023 + F.emax() + 1);
    constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t size = bits & ~(std::uint64_t{1} << 63);
    const std::uint64_t limited = size < too_large << 52 ? size : too_large << 52;  // anything larger overflows as well
    const std::uint64_t binade = limited >> 52 > lowest ? limited >> 52 : lowest;
    const double unit = std::bit_cast<double>((binade + 52 - F.fraction_bits) << 52);
    const std::uint64_t kept = std::bit_cast<std::uint64_t>(std::bit_cast<double>(limited) + unit) & fraction;
    const std::uint64_t magnitude = ((binade - lowest) << F.fraction_bits) + kept;
    const bool negative = bits != size;
    // Selections, not branches: random operands overflow and meet NaN too often to be foreseen.
    const bool overflow = magnitude > F.max_finite_magnitude();
    if constexpr (F.specials == Specials::negative_zero_nan) {
        return overflow ? nan_bits(F) : pack(F, negative, magnitude);
    } else {
        constexpr std::uint64_t beyond = magnitude_of(F, infinity_bits(F, false));
        constexpr std::uint64_t nan = F.has_nan() ? F.nan_code() : F.max_finite_magnitude();
        const bool is_number = size <= std::uint64_t{0x7FF} << 52;
        std::uint64_t code = overflow ? beyond : magnitude;
        code |= static_cast<std::uint64_t>(negative) << (F.code_bits() - 1);
        return (is_number ? code : nan) << F.padding_bits;
    }
}

/// x + y rounded to odd, for sums in fp64's normal range.
constexpr double add_to_odd(double x, double y) {
    const double sum = x + y;
    // Knuth's TwoSum: sum + error is exact.
    const double y_part = sum - x;
    const double error = (x - (sum - y_part)) + (y - y_part);
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    const std::uint64_t away = (error > 0) == (sum > 0) ? 1 : ~std::uint64_t{0};
    const bool moves = (error > 0 || error < 0) && (bits & 1) == 0;
    return std::bit_cast<double>(bits + (moves ? away : 0));
}

/// x * y + z for numbers of up to 24 bits, rounded to odd: safe to round once more.
constexpr double multiply_add_to_odd(double x, double y, double z) { return add_to_odd(x * y, z); }

/// The square root of a number of up to 24 bits, rounded to odd as quotients are.
inline double sqrt_to_odd(double x) {
    const auto root = std::bit_cast<std::uint64_t>(__builtin_sqrt(x)) >> 27 << 27;
    const double size = std::bit_cast<double>(root);
    const double rest = x - size * size;
    return std::bit_cast<double>(root | (rest < 0 || rest > 0 ? 1 : 0));
}

/// x + y of numbers of the format, rounded to odd: safe to round once more, in any mode.
template <FloatFormat F>
constexpr double sum_to_odd(double x, double y) {
    if constexpr (F.emax() + 2 - F.smallest_exponent() <= 53) return x + y;  // exact
    return add_to_odd(x, y);
}

/// x / y for numbers of up to 24 bits, rounded to odd at bit 0 of 53: the first 28 bits of the quotient, which times y
/// are exact, and a sticky bit. A quotient that needs more than 28 bits differs from every 28-bit number by more than
/// 2^-52 of its size, so rounding it to 53 bits cannot cross one.
constexpr double divide_to_odd(double x, double y) {
    const auto quotient = std::bit_cast<std::uint64_t>(x / y) >> 25 << 25;
    const double rest = x - std::bit_cast<double>(quotient) * y;
    return std::bit_cast<double>(quotient | (rest < 0 || rest > 0 ? 1 : 0));
}

/// A result that is a normal number of the format, rounded in the context's mode with its flags. Undecided for all
/// others (subnormal, overflowing, zero, infinite, NaN, by chance) and where subnormal operands count as zeros.
struct Normal {
    bool decided;
    std::uint64_t bits;
};
/// `x` is the exact result, rounded to odd in 53 bits if it has more.
template <FloatFormat F>
constexpr Normal round_normal(double x, Context& context) {
    constexpr auto lowest = static_cast<std::uint64_t>(1023 + F.emin());
    constexpr auto binades = static_cast<std::uint64_t>(F.emax() - F.emin() + 1);
    constexpr int cut = 52 - F.fraction_bits;
    constexpr std::uint64_t below = (std::uint64_t{1} << cut) - 1;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t size = bits & ~(std::uint64_t{1} << 63);
    const bool negative = bits != size;
    if ((size >> 52) - lowest >= binades || context.flush_inputs) return {false, 0};
    const std::uint64_t discarded = size & below;
    // Carries into the kept bits where the mode rounds the magnitude up. (No branches: signs are unforeseeable.)
    std::uint64_t added = 0;
    std::uint64_t last = 0;
    switch (context.rounding) {
        case Rounding::nearest_even: added = (below >> 1) + ((size >> cut) & 1); break;
        case Rounding::nearest_away: added = (below >> 1) + 1; break;
        case Rounding::toward_zero: break;
        case Rounding::down: added = below * static_cast<std::uint64_t>(negative); break;
        case Rounding::up: added = below * static_cast<std::uint64_t>(!negative); break;
        case Rounding::odd: last = discarded != 0 ? 1 : 0; break;
        case Rounding::stochastic:
        case Rounding::stochastic_b:
        case Rounding::stochastic_c: return {false, 0};
    }
    // The smallest normal number has 1 in its exponent field.
    const std::uint64_t magnitude = (((size + added) >> cut) - ((lowest - 1) << F.fraction_bits)) | last;
    if (magnitude > F.max_finite_magnitude()) return {false, 0};
    context.flags |= discarded != 0 ? flag::inexact : 0;
    return {true, pack(F, negative, magnitude)};
}

}  // namespace ulp::quick
