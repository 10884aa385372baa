// The fused group of AMD's CDNA 3 (MI300), as published by Xie et al., arXiv 2511.10909: the products are aligned to
// the largest of them and truncated, as on NVIDIA; then their sum and c are aligned to the larger of the two and
// rounded down, the sum with 31 fraction bits and c with 24; the total is rounded to nearest even. With FP8 the even
// and the odd products are summed apart, and a c more than 25 binades below the largest exponent is dropped.
//
// Undecided without an AMD GPU: a finite product of 2^128 or more beside an infinity of the other sign, c's or that of
// another product. It counts as an infinity, so the result is NaN, here and in MMA-Sim 2.0.2; MMA-Sim 1 gives that
// infinity. A product with a zero takes part in the search for the largest exponent, as in MMA-Sim 1; MMA-Sim 2.0.2
// ignores it, and keeps one more bit of the products' sum until the total is cut to 31 bits.
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/block_dot.hpp"
#include "softfloat/matrix_units/chained_units.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp {

inline constexpr int late_sum_fraction_bits = 31;

/// An integer in units of 2^(exponent - bits).
struct FixedSum {
    std::int64_t units;
    int exponent;
};

/// floor(x * 2^up), for any up.
constexpr std::int64_t shifted_down(std::int64_t x, int up) {
    if (up >= 0) return x * (std::int64_t{1} << up);
    return x >> (-up < 63 ? -up : 63);
}

/// Every `step`-th product from `first` on, aligned to the largest of them and truncated.
constexpr FixedSum aligned_products(const TensorCoreModel& model, const BlockTerm* terms, int first, int step,
                                    int count) {
    int largest = no_exponent_floor;
    for (int k = first; k < count; k += step) largest = terms[k].exponent > largest ? terms[k].exponent : largest;
    std::int64_t units = 0;
    for (int k = first; k < count; k += step) units += aligned_term(model, terms[k], largest);
    return {units, largest};
}

/// Two sums aligned to the larger exponent, rounded down.
constexpr FixedSum joined(const FixedSum& x, const FixedSum& y) {
    const int exponent = x.exponent > y.exponent ? x.exponent : y.exponent;
    return {shifted_down(x.units, x.exponent - exponent) + shifted_down(y.units, y.exponent - exponent), exponent};
}

/// A product from 2^128 on counts as an infinity.
constexpr bool is_beyond_fp32(const BlockTerm& term) {
    return term.significand != 0 && term.exponent - term.point + bit_length(term.significand) > 128;
}

template <class Operand, class Code>
constexpr Code late_addend_group(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c, int count) {
    const bool even_odd = model.summation == Summation::late_addend_even_odd;
    BlockSpecials specials;
    BlockTerm terms[max_group];
    for (int k = 0; k < count; ++k) {
        terms[k] = product_term(model, decoded(model.a_format, a[k]), decoded(model.b_format, b[k]), specials);
        if (is_beyond_fp32(terms[k])) specials.add_infinity(terms[k].sign);
    }
    const BlockTerm addend = addend_term(model, c, specials);
    if (specials.any()) {
        const std::uint64_t bits = specials.result(model.accumulator);
        return static_cast<Code>(is_nan(model.accumulator, bits) ? chained_nan(model, c, c, c) : bits);
    }
    const FixedSum sum =
        even_odd ? joined(aligned_products(model, terms, 0, 2, count), aligned_products(model, terms, 1, 2, count))
                 : aligned_products(model, terms, 0, 1, count);
    const int largest = sum.exponent > addend.exponent ? sum.exponent : addend.exponent;
    const int extra = late_sum_fraction_bits - model.fraction_bits;
    std::int64_t total = shifted_down(sum.units, extra + sum.exponent - largest);
    if (!even_odd || addend.exponent >= largest - 25) {
        const auto magnitude = static_cast<std::int64_t>(addend.significand);
        const std::int64_t units = addend.sign ? -magnitude : magnitude;
        const int up = model.fraction_bits - addend.point + addend.exponent - largest;
        total += shifted_down(units, up) * (std::int64_t{1} << extra);
    }
    if (total == 0) return 0;
    Context context;
    const auto magnitude = static_cast<std::uint64_t>(total < 0 ? -total : total);
    return static_cast<Code>(
        round_to_bits(model.accumulator, total < 0, largest - late_sum_fraction_bits, magnitude, context));
}

}  // namespace ulp
