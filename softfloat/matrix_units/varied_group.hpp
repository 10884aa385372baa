// The fused group with everything that a GroupVariation may ask for: the definition for units that no row of the table
// describes. Terms and sums are integers of 128 bits, so F may be as large as fits_128_bits allows.
//
//     operands, c    flushed, if the unit flushes them
//     products       rounded to a format, then normalised, if the unit does so
//     terms          cut at 2^(largest - F) by any rounding, or with a sticky bit at 2^(largest - F - 1); those whose
//                    sign is not c's perhaps inverted bit by bit in place of negated
//     sum            exact, rounded once; beyond the range infinite or the largest number; subnormal ones flushed
#pragma once

#include "softfloat/matrix_units/block_dot.hpp"

namespace ulp {

/// Bits of the largest sum of a group's terms, its sign left aside: a term is below 4 * 2^F.
constexpr int bits_of_sums(const TensorCoreModel& model) {
    return model.fraction_bits + 2 + (model.variation.sticky ? 1 : 0) +
           bit_length(static_cast<std::uint64_t>(model.group_size + 1));
}
constexpr bool fits_128_bits(const TensorCoreModel& model) { return bits_of_sums(model) <= 128; }

/// A subnormal operand as a zero of its sign.
constexpr DecodedOperand flushed_operand(const FloatFormat& format, const DecodedOperand& x) {
    const bool subnormal = x.kind == Kind::finite && x.significand <= format.fraction_mask();
    return subnormal ? DecodedOperand{Kind::zero, x.sign, 0, 0} : x;
}
/// A subnormal number's storage word as that of a zero of its sign.
constexpr std::uint64_t flushed(const FloatFormat& format, std::uint64_t code) {
    const std::uint64_t magnitude = magnitude_of(format, code);
    return magnitude <= format.fraction_mask() ? pack(format, sign_of(format, code), 0) : code;
}

/// A product as the unit's multiplier rounds it.
constexpr BlockTerm rounded_product(const TensorCoreModel& model, const BlockTerm& exact, BlockSpecials& specials) {
    const FloatFormat& format = model.variation.product_format;
    Context context;
    const std::uint64_t code =
        round_to_bits(format, exact.sign, exact.exponent - exact.point, exact.significand, context);
    const DecodedOperand value = decoded(format, code);
    if (value.kind == Kind::infinity) specials.add_infinity(value.sign);
    if (value.kind == Kind::nan) specials.nan = true;
    if (value.kind == Kind::finite) {
        return {value.sign, unit_exponent(format, value), format.fraction_bits, value.significand};
    }
    if (value.kind != Kind::zero || model.policies.zero_product == ZeroProduct::ignored) return absent_term();
    return {value.sign, zero_operand_exponent(format, model.policies.zero_product), format.fraction_bits, 0};
}

constexpr BlockTerm varied_product(const TensorCoreModel& model, DecodedOperand x, DecodedOperand y,
                                   BlockSpecials& specials) {
    const GroupVariation& variation = model.variation;
    if (variation.flush_operands) {
        x = flushed_operand(model.a_format, x);
        y = flushed_operand(model.b_format, y);
    }
    if (!variation.rounds_products()) return product_term(model, x, y, specials);
    TensorCoreModel exact = model;
    exact.variation.normalise_products = false;
    BlockTerm term = product_term(exact, x, y, specials);
    if (term.significand != 0) term = rounded_product(model, term, specials);
    return variation.normalise_products && term.significand != 0 ? normalised(term) : term;
}

/// The term's magnitude in units of 2^(largest - F), or of half of that with a sticky bit, beside a c of that sign.
constexpr UInt128 aligned_magnitude(const TensorCoreModel& model, const BlockTerm& term, int largest, bool c_sign) {
    const GroupVariation& variation = model.variation;
    const int cut = largest - model.fraction_bits - (term.exponent - term.point);
    const auto [kept, discarded] = split_at(UInt128{term.significand}, cut, 0);
    if (variation.sticky) return kept << 1 | (discarded.any() ? 1U : 0U);
    if (variation.invert_opposing) return kept + (term.sign != c_sign && term.significand != 0 ? 1U : 0U);
    const Context context{.rounding = variation.alignment};
    return kept + (rounds_up(context, term.sign, (kept & 1) != 0, discarded) ? 1U : 0U);
}

constexpr std::uint64_t varied_nan(const TensorCoreModel& model) {
    return model.nan == NanStyle::all_ones ? tensor_core_nan(model.accumulator) : nan_bits(model.accumulator);
}

/// (-1)^sign * magnitude * 2^exponent, rounded, saturated and flushed.
constexpr std::uint64_t round_varied_sum(const TensorCoreModel& model, bool sign, UInt128 magnitude, int exponent) {
    const FloatFormat& format = model.accumulator;
    std::uint64_t bits = round_block_sum(model, sign, magnitude, exponent);
    if (is_infinity(format, bits) && model.variation.saturate) {
        const FloatFormat kept = model.sum_format();
        bits = pack(kept, sign, kept.max_finite_magnitude());
    }
    if (!model.variation.flush_results || magnitude_of(format, bits) > format.fraction_mask()) return bits;
    return pack(format, sign && model.policies.underflow_sign == UnderflowSign::kept, 0);
}

/// block_dot of a varied unit.
template <class Operand, class Code>
constexpr Code varied_group(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c, int count) {
    BlockSpecials specials;
    BlockTerm terms[max_group + 1];
    const std::uint64_t addend = model.variation.flush_addend ? flushed(model.accumulator, std::uint64_t{c}) : c;
    const bool c_sign = sign_of(model.accumulator, addend);
    bool negative = c_sign;  // every term is negative, or a negative zero
    for (int k = 0; k < count; ++k) {
        const DecodedOperand x = decoded(model.a_format, a[k]);
        const DecodedOperand y = decoded(model.b_format, b[k]);
        negative = negative && x.sign != y.sign;
        terms[k] = varied_product(model, x, y, specials);
    }
    terms[count] = addend_term(model, addend, specials);
    if (specials.nan || (specials.positive_infinity && specials.negative_infinity)) {
        return static_cast<Code>(varied_nan(model));
    }
    if (specials.any()) return static_cast<Code>(specials.result(model.accumulator));

    int largest = model.policies.exponent_floor;
    for (int k = 0; k <= count; ++k) largest = terms[k].exponent > largest ? terms[k].exponent : largest;
    UInt128 positive_sum = 0;
    UInt128 negative_sum = 0;
    for (int k = 0; k <= count; ++k) {
        (terms[k].sign ? negative_sum : positive_sum) += aligned_magnitude(model, terms[k], largest, c_sign);
    }
    const bool sign = negative_sum > positive_sum;
    const UInt128 magnitude = sign ? negative_sum - positive_sum : positive_sum - negative_sum;
    if (magnitude == 0) {
        const bool minus = model.variation.negative_zeros && negative;
        return static_cast<Code>(pack(model.accumulator, minus, 0));
    }
    const int exponent = largest - model.fraction_bits - (model.variation.sticky ? 1 : 0);
    return static_cast<Code>(round_varied_sum(model, sign, magnitude, exponent));
}

}  // namespace ulp
