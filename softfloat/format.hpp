// A floating-point format as a value. Everything else about a format is derived from these few fields, so a new format
// is one more row at the end of this file.
//
//   storage word:  | padding (always 0 at the bottom) |   e.g. tf32:  s eeeeeeee ffffffffff 0000000000000
//   fp16:          s eeeee ffffffffff
//
// A format whose values follow no such fields (posits, HiFloat8, codebooks) is a table of values, up to 16 bits wide
// (softfloat/value_table.hpp): the same struct, with specials == Specials::table.
#pragma once

#include <cstdint>

#include "softfloat/context.hpp"
#include "softfloat/support/device_constant.hpp"

namespace ulp {

/// What the codes with extreme exponents mean.
enum class Specials : std::uint8_t {
    ieee,               // all-ones exponent: fraction 0 is infinity, any other fraction is NaN
    all_ones_nan,       // no infinity; only the all-ones magnitude is NaN (OCP E4M3 and E8M0)
    negative_zero_nan,  // no infinity and no -0; the code 1 00..0 is the one NaN ("fnuz")
    none,               // every code is a finite number (OCP FP6 and FP4)
    one_nan_infinity,  // the largest magnitude is infinity, the code of -0 the one NaN; without a sign the last code is
                       // NaN, the one before it infinity (IEEE P3109's extended formats)
    table              // values of a table (softfloat/value_table.hpp), whose number is `bias`
};

/// A binary floating-point format. A value is (-1)^sign * significand * 2^exponent with an integer significand.
/// Structural, so it can be a template argument: `Float<formats::fp16>`.
struct FloatFormat {
    int exponent_bits;
    int fraction_bits;
    int bias;
    Specials specials = Specials::ieee;
    bool has_sign = true;
    bool has_subnormals = true;         // false: exponent field 0 is a normal binade and there is no zero (E8M0)
    bool even_codes = false;            // precision 1: a tie goes to the even code (P3109), not to the larger magnitude
    int padding_bits = 0;               // zero bits below the fraction in the storage word (tf32: 13)
    int unused_exponents = 0;           // finite binades at the top that the format leaves out (custom formats)
    Saturation saturation{};            // what an overflow gives where the context leaves it open
    bool largest_for_infinity = false;  // an infinite result is the largest number, not NaN (P3109's finite formats)

    /// Whether the values stand in a table. Code for a GPU has none.
    [[nodiscard]] constexpr bool is_table() const {
#ifdef __CUDA_ARCH__
        return false;
#else
        return specials == Specials::table;
#endif
    }
    /// Digits of the significand in base 2, the hidden one included. Of a table: what resolves its values' midpoints.
    [[nodiscard]] constexpr int precision() const { return is_table() ? 53 : fraction_bits + 1; }
    /// Bits of sign, exponent and fraction, without padding.
    [[nodiscard]] constexpr int code_bits() const { return (has_sign ? 1 : 0) + exponent_bits + fraction_bits; }
    /// Bits of the word that holds a value.
    [[nodiscard]] constexpr int storage_bits() const { return code_bits() + padding_bits; }
    /// Exponent of the smallest normal number, 2^emin. Values of tables are fp32's.
    [[nodiscard]] constexpr int emin() const { return is_table() ? -126 : (has_subnormals ? 1 : 0) - bias; }
    /// Exponent of the largest finite number.
    [[nodiscard]] constexpr int emax() const {
        if (is_table()) return 127;
        return static_cast<int>(max_finite_magnitude() >> fraction_bits) - bias;
    }
    /// Exponent of the unit in the last place of the smallest binade: the smallest positive number is 2^this.
    [[nodiscard]] constexpr int smallest_exponent() const { return emin() - (is_table() ? 23 : fraction_bits); }
    [[nodiscard]] constexpr bool has_infinity() const;
    [[nodiscard]] constexpr bool has_nan() const;
    /// Whether the code that would be -0 is the one NaN.
    [[nodiscard]] constexpr bool has_nan_for_negative_zero() const {
        return specials == Specials::negative_zero_nan || (specials == Specials::one_nan_infinity && has_sign);
    }
    [[nodiscard]] constexpr bool has_negative_zero() const {
        return has_sign && !has_nan_for_negative_zero() && !is_table();
    }

    // Codes below are magnitudes (no sign, no padding): exponent field then fraction.
    [[nodiscard]] constexpr std::uint64_t fraction_mask() const { return (std::uint64_t{1} << fraction_bits) - 1; }
    [[nodiscard]] constexpr std::uint64_t magnitude_mask() const {
        return (std::uint64_t{1} << (exponent_bits + fraction_bits)) - 1;
    }
    /// Meaningful where has_infinity().
    [[nodiscard]] constexpr std::uint64_t infinity_magnitude() const {
        if (specials == Specials::one_nan_infinity) return magnitude_mask() - (has_sign ? 0 : 1);
        return magnitude_mask() ^ fraction_mask();
    }
    [[nodiscard]] constexpr std::uint64_t max_finite_magnitude() const {
        std::uint64_t top = magnitude_mask();
        if (specials == Specials::ieee || specials == Specials::one_nan_infinity) {
            top = infinity_magnitude() - 1;
        } else if (specials == Specials::all_ones_nan) {
            top -= 1;
        }
        return top - (static_cast<std::uint64_t>(unused_exponents) << fraction_bits);
    }
    /// The quiet NaN that operations make. Meaningful where has_nan().
    [[nodiscard]] constexpr std::uint64_t nan_code() const {
        if (specials == Specials::ieee) return infinity_magnitude() | (std::uint64_t{1} << (fraction_bits - 1));
        if (has_nan_for_negative_zero()) return std::uint64_t{1} << (exponent_bits + fraction_bits);
        return magnitude_mask();
    }

    constexpr bool operator==(const FloatFormat&) const = default;
};

#ifndef __CUDA_ARCH__
namespace tables {
bool has_infinity(const FloatFormat& format);
bool has_nan(const FloatFormat& format);
}  // namespace tables
#endif
constexpr bool FloatFormat::has_infinity() const {
#ifndef __CUDA_ARCH__
    if (is_table()) return tables::has_infinity(*this);
#endif
    return specials == Specials::ieee || specials == Specials::one_nan_infinity;
}
constexpr bool FloatFormat::has_nan() const {
#ifndef __CUDA_ARCH__
    if (is_table()) return tables::has_nan(*this);
#endif
    return specials != Specials::none;
}

/// The IEEE 754 layout with these field widths.
constexpr FloatFormat ieee_format(int exponent_bits, int fraction_bits, int padding_bits = 0) {
    return {.exponent_bits = exponent_bits,
            .fraction_bits = fraction_bits,
            .bias = (1 << (exponent_bits - 1)) - 1,
            .padding_bits = padding_bits};
}

/// The rows. Names are kept separately (format_names.hpp): a name inside the struct could not be a template argument.
namespace formats {
ULPLAB_DEVICE_CONSTANT FloatFormat fp64 = ieee_format(11, 52);
ULPLAB_DEVICE_CONSTANT FloatFormat fp32 = ieee_format(8, 23);
ULPLAB_DEVICE_CONSTANT FloatFormat tf32 = ieee_format(8, 10, 13);
ULPLAB_DEVICE_CONSTANT FloatFormat bf16 = ieee_format(8, 7);
ULPLAB_DEVICE_CONSTANT FloatFormat fp16 = ieee_format(5, 10);
// OCP 8-bit floating point specification 1.0, table 1.
ULPLAB_DEVICE_CONSTANT FloatFormat e5m2 = ieee_format(5, 2);
ULPLAB_DEVICE_CONSTANT FloatFormat e4m3 = {
    .exponent_bits = 4, .fraction_bits = 3, .bias = 7, .specials = Specials::all_ones_nan};
// The variants of AMD, Graphcore and Qualcomm (Noune et al. 2022): a bias one larger, the code of -0 is the NaN.
ULPLAB_DEVICE_CONSTANT FloatFormat e5m2fnuz = {
    .exponent_bits = 5, .fraction_bits = 2, .bias = 16, .specials = Specials::negative_zero_nan};
ULPLAB_DEVICE_CONSTANT FloatFormat e4m3fnuz = {
    .exponent_bits = 4, .fraction_bits = 3, .bias = 8, .specials = Specials::negative_zero_nan};
// OCP microscaling formats (MX) specification 1.0, section 5.3: elements of 6 and 4 bits, and the scale of a block.
ULPLAB_DEVICE_CONSTANT FloatFormat e3m2 = {
    .exponent_bits = 3, .fraction_bits = 2, .bias = 3, .specials = Specials::none};
ULPLAB_DEVICE_CONSTANT FloatFormat e2m3 = {
    .exponent_bits = 2, .fraction_bits = 3, .bias = 1, .specials = Specials::none};
ULPLAB_DEVICE_CONSTANT FloatFormat e2m1 = {
    .exponent_bits = 2, .fraction_bits = 1, .bias = 1, .specials = Specials::none};
ULPLAB_DEVICE_CONSTANT FloatFormat e8m0 = {.exponent_bits = 8,
                                           .fraction_bits = 0,
                                           .bias = 127,
                                           .specials = Specials::all_ones_nan,
                                           .has_sign = false,
                                           .has_subnormals = false};
}  // namespace formats

static_assert(formats::fp16.emin() == -14 && formats::fp16.emax() == 15 && formats::fp16.smallest_exponent() == -24);
static_assert(formats::e4m3.emin() == -6 && formats::e4m3.emax() == 8 && formats::e5m2.emax() == 15);
static_assert(formats::tf32.storage_bits() == 32 && formats::tf32.code_bits() == 19);
static_assert(formats::e8m0.emin() == -127 && formats::e8m0.emax() == 127 && formats::e2m1.emax() == 2);
static_assert(formats::e4m3fnuz.emin() == -7 && formats::e4m3fnuz.emax() == 7 && formats::e5m2fnuz.emax() == 15);
static_assert(formats::fp32.nan_code() == 0x7FC00000 && formats::fp32.max_finite_magnitude() == 0x7F7FFFFF);

}  // namespace ulp
