// The fused group on operands that were decoded before: the fast twin of block_dot
// (softfloat/matrix_units/block_dot.hpp), for a GPU that checks billions of groups. An operand serves a whole row or
// column of a tile, so it is decoded once. Infinities and NaNs are left to block_dot: they are rare where speed
// matters.
#pragma once

#include <cstdint>
#include <type_traits>

#include "softfloat/matrix_units/chain_dot.hpp"

namespace ulp::gpu {

/// (-1)^sign * significand * 2^(exponent - fraction bits). A zero has the exponent with which it takes part in the
/// search for the largest one.
struct Int32Operand {
    std::int32_t significand;  // signed; A's are moved up so that products are in units of 2^(their exponent - F)
    std::int32_t exponent;     // of the unit digit; `special` for infinities and NaNs
};
/// Above any sum of real exponents, also half of it.
inline constexpr std::int32_t special_exponent = 1 << 20;
/// Below any sum of real exponents, and still so after another zero's is added.
inline constexpr std::int32_t ignored_exponent = -40000;

/// What decoding a code of a format needs, worked out once: every number in a register or a constant bank.
struct Int32Format {
    int padding;   // below the fraction
    int fraction;  // its bits
    int bias;
    std::uint32_t magnitudes;     // mask of exponent field and fraction
    std::uint32_t first_special;  // the lowest magnitude that is an infinity or NaN; beyond all where there is none
    std::int32_t zero_exponent;
    int up;  // by which significands are moved

    [[nodiscard]] constexpr bool is_special(std::uint32_t code) const {
        return (code >> padding & magnitudes) >= first_special;
    }
    [[nodiscard]] constexpr bool is_negative(std::uint32_t code) const {
        return (code >> padding & (magnitudes + 1)) != 0;
    }
    /// Of a code that is not special, without its sign.
    [[nodiscard]] constexpr Int32Operand decode(std::uint32_t code) const {
        const std::uint32_t magnitude = code >> padding & magnitudes;
        if (magnitude == 0) return {0, zero_exponent};
        const std::uint32_t field = magnitude >> fraction;
        const std::uint32_t hidden = field != 0 ? 1 : 0;
        const std::uint32_t significand = magnitude + (hidden << fraction) - (field << fraction);
        return {static_cast<std::int32_t>(significand << up), static_cast<std::int32_t>(field + 1 - hidden) - bias};
    }
};
constexpr Int32Format int32_format(const FloatFormat& format, std::int32_t zero_exponent, int up) {
    const auto magnitudes = static_cast<std::uint32_t>(format.magnitude_mask());
    const std::uint32_t special = format.specials == Specials::ieee
                                      ? static_cast<std::uint32_t>(format.infinity_magnitude())
                                  : format.has_nan() ? magnitudes
                                                     : ~std::uint32_t{0};
    return {format.padding_bits, format.fraction_bits, format.bias, magnitudes, special, zero_exponent, up};
}
/// IEEE 754, or OCP's formats.
constexpr bool has_int32_format(const FloatFormat& format) {
    return format.has_negative_zero() && format.has_subnormals &&
           format.storage_bits() <= 32 && format.unused_exponents == 0;
}

/// What the groups need of a model, worked out once.
struct DecodedModel {
    TensorCoreModel model;  // of the fused groups: for emulated FP8 that of the fp16 instruction
    FloatFormat a_source;   // the operands' own formats, before an emulation converts them
    FloatFormat b_source;
    bool emulated;  // FP8 through two fp16 instructions
    int k;          // products of the whole instruction
    Int32Format a, b, c;
    int addend_down;  // F below c's last bit: how far c is moved down at the largest exponent (or up: Int32Format)
    int kept;         // fraction bits of a rounded sum
    int padding;      // zero bits below them
    int emin, emax;   // of the accumulator
    std::uint32_t sign;
    bool to_nearest;
};

/// Whether the decoded path knows the model: fused groups, or FP8 through them, without mutations.
constexpr bool has_decoded_path(const TensorCoreModel& model) {
    const bool fused = model.summation == Summation::fused || model.summation == Summation::fp8_by_hmma;
    const FloatFormat factor = model.summation == Summation::fp8_by_hmma ? formats::fp16 : model.a_format;
    const int point = 2 * factor.fraction_bits;
    const bool rounds = model.rounding == Rounding::toward_zero || model.rounding == Rounding::nearest_even;
    const bool formats = has_int32_format(model.a_format) && has_int32_format(model.b_format) &&
                         has_int32_format(model.accumulator) && model.accumulator.padding_bits == 0 &&
                         model.accumulator.has_infinity();
    // Aligned products stay below 2^27 then, so that 16 of them have a 32-bit sum.
    return fused && rounds && formats && !is_varied(model) && !model.flush_subnormals && point <= model.fraction_bits &&
           model.fraction_bits <= 25 && model.a_format.fraction_bits <= 10 && model.b_format.fraction_bits <= 10;
}

constexpr DecodedModel decoded_model(const TensorCoreModel& model) {
    const bool emulated = model.summation == Summation::fp8_by_hmma;
    const TensorCoreModel groups = emulated ? emulating_hmma(model) : model;
    const FloatFormat& sum = groups.accumulator;
    const auto zero = [&](const FloatFormat& factor) {
        const ZeroProduct policy = groups.policies.zero_product;
        return policy == ZeroProduct::ignored ? ignored_exponent : zero_operand_exponent(factor, policy);
    };
    const int zero_sum = groups.policies.zero_addend == ZeroAddend::ignored        ? no_exponent_floor
                         : groups.policies.zero_addend == ZeroAddend::at_fp32_emin ? formats::fp32.emin()
                                                                                   : sum.emin();
    const int below = groups.fraction_bits - sum.fraction_bits;
    return {groups,
            model.a_format,
            model.b_format,
            emulated,
            model.instruction_k,
            int32_format(groups.a_format, zero(groups.a_format),
                         groups.fraction_bits - groups.a_format.fraction_bits - groups.b_format.fraction_bits),
            int32_format(groups.b_format, zero(groups.b_format), 0),
            int32_format(sum, zero_sum, below > 0 ? below : 0),
            below < 0 ? -below : 0,
            groups.output_fraction_bits,
            sum.fraction_bits - groups.output_fraction_bits,
            sum.emin(),
            sum.emax(),
            std::uint32_t{1} << (sum.storage_bits() - 1),
            groups.rounding == Rounding::nearest_even};
}

/// Where product k of an instruction stands after the emulation has sorted them: groups are then contiguous.
constexpr int decoded_position(const DecodedModel& m, int k) {
    if (!m.emulated) return k;
    return k / 4 * 2 + k % 2 + (in_second_hmma(k) ? m.k / 2 : 0);
}

constexpr Int32Operand decode_operand(const DecodedModel& m, const FloatFormat& source, const FloatFormat& factor,
                                      const Int32Format& format, std::uint32_t code) {
    std::uint32_t bits = code;
    if (m.emulated) {
        Context exact;
        bits = static_cast<std::uint32_t>(convert_bits(factor, source, std::uint64_t{bits}, exact));
    }
    if (format.is_special(bits)) return {0, special_exponent};
    Int32Operand operand = format.decode(bits);
    if (format.is_negative(bits)) operand.significand = -operand.significand;
    return operand;
}
constexpr Int32Operand decode_a(const DecodedModel& m, std::uint32_t code) {
    return decode_operand(m, m.a_source, m.model.a_format, m.a, code);
}
constexpr Int32Operand decode_b(const DecodedModel& m, std::uint32_t code) {
    return decode_operand(m, m.b_source, m.model.b_format, m.b, code);
}

/// The place of the leading one of a number above zero.
constexpr int top_bit(std::uint32_t x) { return 31 - __builtin_clz(x); }
constexpr int top_bit(std::uint64_t x) { return 63 - __builtin_clzll(x); }

/// (-1)^negative * magnitude * 2^exponent, rounded as the model's groups are. Positions are those of 32 bits or, of the
/// sums of more than 16 products, of 64.
template <class Word>
constexpr std::uint32_t rounded_sum(const DecodedModel& m, bool negative, Word magnitude, int exponent) {
    if (magnitude == 0) return 0;
    const std::uint32_t sign = negative ? m.sign : 0;
    const int top = top_bit(magnitude);
    const int binade = exponent + top;
    if (binade > m.emax) return sign | m.c.first_special;
    const int least = m.emin - m.kept - exponent;
    const int down = top - m.kept > least ? top - m.kept : least;
    Word significand = 0;
    if (down <= 0) {
        significand = magnitude << -down;
    } else if (down < static_cast<int>(8 * sizeof(Word))) {
        significand = magnitude >> down;
        if (m.to_nearest) {
            const Word rest = magnitude - (significand << down);
            const Word half = Word{1} << (down - 1);
            significand += rest > half || (rest == half && (significand & 1) != 0) ? 1 : 0;
        }
    }
    if (significand == 0 && m.model.policies.underflow_sign == UnderflowSign::positive) return 0;
    // The hidden one adds one to the exponent field, and so does a carry of the rounding.
    const int field = binade > m.emin ? binade - m.emin : 0;
    return sign | (static_cast<std::uint32_t>(significand) + (static_cast<std::uint32_t>(field) << m.kept))
                      << m.padding;
}

/// A group of `Group` products and c, which is replaced by the result. False, and c untouched, where c or an operand is
/// an infinity or NaN. `Group` is a template argument so that a GPU keeps the products in registers.
template <int Group>
constexpr bool decoded_group(const DecodedModel& m, const Int32Operand* a, const Int32Operand* b, std::uint32_t& c) {
    if (m.c.is_special(c)) return false;
    Int32Operand addend = m.c.decode(c);
    if (m.model.policies.subnormal_addend == SubnormalAddend::at_leading_bit && addend.significand != 0) {
        const int below_unit = m.c.fraction + m.c.up - top_bit(static_cast<std::uint32_t>(addend.significand));
        addend.significand <<= below_unit;
        addend.exponent -= below_unit;
    }
    std::int32_t products[Group];
    std::int32_t exponents[Group];
    std::int32_t largest = m.model.policies.exponent_floor;
    if (addend.exponent > largest) largest = addend.exponent;
    for (int k = 0; k < Group; ++k) {
        products[k] = a[k].significand * b[k].significand;
        exponents[k] = a[k].exponent + b[k].exponent;
        if (exponents[k] > largest) largest = exponents[k];
    }
    if (largest >= special_exponent / 2) return false;
    const auto clamped = [](std::int32_t distance) { return distance < 31 ? distance : 31; };
    const std::int32_t aligned = addend.significand >> clamped(largest - addend.exponent + m.addend_down);
    std::int64_t sum = m.c.is_negative(c) ? -aligned : aligned;
    for (int first = 0; first < Group; first += 16) {
        std::int32_t part = 0;
        for (int k = first; k < Group && k < first + 16; ++k) {
            // Truncated toward zero: shifts round down, so what is below zero is moved down from one less, and one is
            // put back. Magnitudes are below 2^27.
            const std::int32_t negative = products[k] >> 31;  // -1 or 0
            part += ((products[k] + negative) >> clamped(largest - exponents[k])) - negative;
        }
        sum += part;
    }
    using Word = std::conditional_t<(Group > 16), std::uint64_t, std::uint32_t>;
    const auto magnitude = static_cast<Word>(sum < 0 ? -sum : sum);
    c = rounded_sum(m, sum < 0, magnitude, largest - m.model.fraction_bits);
    return true;
}

/// One instruction on decoded operands in the order of decoded_position; c is replaced by the result. False, and c
/// untouched, where an infinity or NaN comes up on the way. `Group` is the model's group and divides its k.
template <int Group>
constexpr bool decoded_instruction(const DecodedModel& m, const Int32Operand* a, const Int32Operand* b,
                                   std::uint32_t& c) {
    std::uint32_t sum = m.emulated ? 0 : c;
    for (int k = 0; k < m.k; k += Group) {
        if (!decoded_group<Group>(m, a + k, b + k, sum)) return false;
    }
    c = m.emulated ? static_cast<std::uint32_t>(add_nearest(m.model.accumulator, sum, c)) : sum;
    return true;
}

}  // namespace ulp::gpu
