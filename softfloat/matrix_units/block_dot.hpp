// One fused group of a Tensor Core: n products and c, added as integers and rounded once.
//
//     product k:   significand a * significand b, exactly, in [0, 4) * 2^(exponent a + exponent b)
//     largest exponent M, over the nonzero products and c
//                        2^M                 2^(M-F)
//     term aligned:  x x . x x x ... x x x x x | y y y y y    the y are cut off, whatever the sign
//     sum of the terms: exact;  normalised and rounded once
//
// Khattak and Mikaitis, arXiv 2512.07004; Xie et al., arXiv 2511.10909; Fasi et al., PeerJ CS 7:e330.
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/model.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/bits.hpp"

namespace ulp {

/// NVIDIA's NaN: every bit of the magnitude set (PTX ISA, mma: "NaN payloads are not preserved").
constexpr std::uint64_t tensor_core_nan(const FloatFormat& format) {
    return pack(format, false, format.magnitude_mask());
}

/// An aligned term's ingredients: (-1)^sign * significand * 2^(exponent - point), significand < 4 * 2^point.
/// Not normalised. A zero has significand 0 and the exponent with which it takes part in the search for the largest.
struct BlockTerm {
    bool sign;
    int exponent;
    int point;
    std::uint64_t significand;
};
/// Its significand in [1, 2).
constexpr BlockTerm normalised(const BlockTerm& term) {
    const int last = bit_length(term.significand) - 1;
    return {term.sign, term.exponent + last - term.point, last, term.significand};
}
constexpr BlockTerm absent_term() { return {false, no_exponent_floor, 0, 0}; }

/// Which special values a group holds.
struct BlockSpecials {
    bool nan = false;
    bool positive_infinity = false;
    bool negative_infinity = false;

    constexpr void add_infinity(bool sign) { (sign ? negative_infinity : positive_infinity) = true; }
    [[nodiscard]] constexpr bool any() const { return nan || positive_infinity || negative_infinity; }
    [[nodiscard]] constexpr std::uint64_t result(const FloatFormat& format) const {
        if (nan || (positive_infinity && negative_infinity)) return tensor_core_nan(format);
        return infinity_bits(format, negative_infinity);
    }
};

/// The exponent of an operand's unit digit: 2^exponent is where the hidden one stands, or would stand in a subnormal.
constexpr int unit_exponent(const FloatFormat& format, const Unpacked<std::uint64_t>& value) {
    return value.exponent + format.fraction_bits;
}

constexpr int zero_operand_exponent(const FloatFormat& format, ZeroProduct policy) {
    return policy == ZeroProduct::operand_as_subnormal ? format.emin() : formats::fp32.emin();
}

/// An operand, decoded once for the many products it takes part in. Functions here accept it in place of a code.
using DecodedOperand = Unpacked<std::uint64_t>;
constexpr DecodedOperand decoded(const FloatFormat& format, std::uint64_t code) {
    return decode<std::uint64_t>(format, code);
}
constexpr DecodedOperand decoded(const FloatFormat&, const DecodedOperand& operand) { return operand; }

/// x * y as a term; what is special about it goes into `specials`.
constexpr BlockTerm product_term(const TensorCoreModel& model, const DecodedOperand& x, const DecodedOperand& y,
                                 BlockSpecials& specials) {
    const bool sign = x.sign != y.sign;
    if (x.kind == Kind::nan || y.kind == Kind::nan) {
        specials.nan = true;
        return absent_term();
    }
    if (x.kind == Kind::infinity || y.kind == Kind::infinity) {
        if (x.kind == Kind::zero || y.kind == Kind::zero) specials.nan = true;
        specials.add_infinity(sign);
        return absent_term();
    }
    const int point = model.a_format.fraction_bits + model.b_format.fraction_bits;
    const ZeroProduct policy = model.policies.zero_product;
    if (x.kind == Kind::zero || y.kind == Kind::zero) {
        if (policy == ZeroProduct::ignored) return absent_term();
        const int ex =
            x.kind == Kind::zero ? zero_operand_exponent(model.a_format, policy) : unit_exponent(model.a_format, x);
        const int ey =
            y.kind == Kind::zero ? zero_operand_exponent(model.b_format, policy) : unit_exponent(model.b_format, y);
        return {sign, ex + ey, point, 0};
    }
    const BlockTerm term{sign, unit_exponent(model.a_format, x) + unit_exponent(model.b_format, y), point,
                         x.significand * y.significand};
    return model.variation.normalise_products ? normalised(term) : term;
}

/// c as a term.
constexpr BlockTerm addend_term(const TensorCoreModel& model, std::uint64_t c, BlockSpecials& specials) {
    const FloatFormat& format = model.accumulator;
    const auto value = decode<std::uint64_t>(format, c);
    switch (value.kind) {
        case Kind::nan: specials.nan = true; return absent_term();
        case Kind::infinity: specials.add_infinity(value.sign); return absent_term();
        case Kind::zero:
            if (model.policies.zero_addend == ZeroAddend::ignored) return absent_term();
            return {value.sign,
                    model.policies.zero_addend == ZeroAddend::at_fp32_emin ? formats::fp32.emin() : format.emin(),
                    format.fraction_bits, 0};
        case Kind::finite: break;
    }
    BlockTerm term{value.sign, unit_exponent(format, value), format.fraction_bits, value.significand};
    if (model.policies.subnormal_addend == SubnormalAddend::at_leading_bit) {
        const int below_unit = format.precision() - bit_length(value.significand);
        term.exponent -= below_unit;
        term.point -= below_unit;
    }
    return term;
}

/// The term as an integer multiple of 2^(largest - F), its magnitude truncated toward zero.
///
/// Signs and shifts of terms are as good as random, so this does without branches: the significand, of at most 24 bits,
/// is moved up as far as any F needs and then down.
constexpr std::int64_t aligned_term(const TensorCoreModel& model, const BlockTerm& term, int largest) {
    constexpr int up = 38;
    const int wanted = term.exponent - largest + model.fraction_bits - term.point;  // at most F - point
    const int down = up - wanted < 63 ? up - wanted : 63;
    const std::uint64_t raised = term.significand << up;
    std::uint64_t magnitude = raised >> down;
    if (model.variation.alignment == Rounding::down && term.sign) magnitude += (magnitude << down) != raised ? 1 : 0;
    const auto negate = -static_cast<std::int64_t>(term.sign);
    return (static_cast<std::int64_t>(magnitude) ^ negate) - negate;
}

/// (-1)^sign * magnitude * 2^exponent in the accumulator's format, rounded as the model's groups are.
template <class Word>
constexpr std::uint64_t round_block_sum(const TensorCoreModel& model, bool sign, Word magnitude, int exponent) {
    if (magnitude == 0) return 0;
    const FloatFormat format = model.sum_format();
    // Toward zero, too, a sum beyond the range is an infinity, not the largest finite number.
    if (exponent + bit_length(magnitude) - 1 > format.emax()) return infinity_bits(model.accumulator, sign);
    Context context{.rounding = model.rounding};
    const std::uint64_t bits = round_to_bits(format, sign, exponent, magnitude, context);
    const bool underflowed = magnitude_of(format, bits) == 0;
    return underflowed && model.policies.underflow_sign == UnderflowSign::positive ? 0 : bits;
}

/// Most products that any model fuses; on a GPU those of a row of the table.
#if defined(__CUDA_ARCH__)
inline constexpr int max_group = 64;
#else
inline constexpr int max_group = 256;
#endif

/// varied_group.hpp, included below.
template <class Operand, class Code>
constexpr Code varied_group(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c, int count);

/// A fused group: products a[k] * b[k], k < count <= max_group, and c, a storage word of the accumulator. Operands are
/// storage words of the model's formats or decoded ones. Products beyond `count` are absent: they add nothing and
/// cannot set the largest exponent. A varied unit's group is that of varied_group.hpp.
template <class Operand, class Code>
constexpr Code block_dot(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c, int count) {
    if (is_varied(model)) return varied_group(model, a, b, c, count);
    BlockSpecials specials;
    BlockTerm terms[max_group + 1];
    for (int k = 0; k < count; ++k) {
        terms[k] = product_term(model, decoded(model.a_format, a[k]), decoded(model.b_format, b[k]), specials);
    }
    terms[count] = addend_term(model, c, specials);
    if (specials.any()) return static_cast<Code>(specials.result(model.accumulator));

    int largest = model.policies.exponent_floor;
    for (int k = 0; k <= count; ++k) largest = terms[k].exponent > largest ? terms[k].exponent : largest;
    std::int64_t sum = 0;
    for (int k = 0; k <= count; ++k) sum += aligned_term(model, terms[k], largest);
    const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    return static_cast<Code>(round_block_sum(model, sum < 0, magnitude, largest - model.fraction_bits));
}

}  // namespace ulp

#include "softfloat/matrix_units/varied_group.hpp"
