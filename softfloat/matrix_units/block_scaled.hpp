// Block-scaled matrix instructions of Blackwell (tcgen05 and sm_120 mma), as published by Xie et al., arXiv 2511.10909:
// every `scale_block` elements of A and of B share a scale.
//
//     mxf8f6f4   E8M0 scales for 32 elements: powers of two, so they only move the exponents of the fused group
//     mxf4       FP4 elements, E8M0 scales for 32 elements, k64
//     nvf4       FP4 elements, E4M3 scales (without sign: UE4M3) for 16 elements, k64
//
// With FP4 the products of 16 elements are added exactly, the sum is multiplied by both scales' significands, and these
// few terms are aligned with c at 35 fraction bits, at the scales' exponents.
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/block_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp {

struct BlockScaledModel {
    TensorCoreModel unscaled;                  // elements, accumulator, k, F and rounding of the fused sum
    FloatFormat scale_format = formats::e8m0;  // E8M0 or E4M3
    int scale_block = 32;                      // elements that share a scale
    int exact_products = 1;                    // products added exactly before they are scaled and aligned: 1 or 16

    constexpr bool operator==(const BlockScaledModel&) const = default;
};

/// A scale without its sign: significand * 2^(exponent - fraction bits), with the exponent of its unit digit.
struct Scale {
    bool nan;
    int exponent;
    std::uint64_t significand;
};
constexpr Scale decode_scale(const FloatFormat& format, std::uint64_t code) {
    const std::uint64_t magnitude = pack(format, false, magnitude_of(format, code));
    const DecodedOperand value = decoded(format, magnitude);
    if (value.kind == Kind::nan) return {true, 0, 0};
    if (value.kind == Kind::zero) return {false, formats::fp32.emin(), 0};
    return {false, unit_exponent(format, value), value.significand};
}

/// The exact sum of some products and two scales as one term. Infinities and NaNs of elements go into `specials`.
constexpr BlockTerm scaled_term(const BlockScaledModel& model, const std::uint32_t* a, const std::uint32_t* b,
                                const Scale& x, const Scale& y, BlockSpecials& specials) {
    const TensorCoreModel& unscaled = model.unscaled;
    if (model.exact_products == 1) {
        BlockTerm term =
            product_term(unscaled, decoded(unscaled.a_format, *a), decoded(unscaled.b_format, *b), specials);
        term.exponent += x.exponent + y.exponent;
        return term;
    }
    // Units of the least product: FP4's are quarters.
    const int lowest = unscaled.a_format.smallest_exponent() + unscaled.b_format.smallest_exponent();
    std::int64_t sum = 0;
    for (int k = 0; k < model.exact_products; ++k) {
        const BlockTerm term =
            product_term(unscaled, decoded(unscaled.a_format, a[k]), decoded(unscaled.b_format, b[k]), specials);
        const auto units = static_cast<std::int64_t>(
            term.significand << (term.significand == 0 ? 0 : term.exponent - term.point - lowest));
        sum += term.sign ? -units : units;
    }
    const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    const int point = 2 * model.scale_format.fraction_bits - lowest;
    return {sum < 0, x.exponent + y.exponent, point, magnitude * x.significand * y.significand};
}

/// One instruction: instruction_k codes of each operand, a scale for each scale_block of them, and c, an fp32 word.
constexpr std::uint32_t block_scaled_dot(const BlockScaledModel& model, const std::uint32_t* a, const std::uint32_t* b,
                                         const std::uint32_t* a_scales, const std::uint32_t* b_scales,
                                         std::uint32_t c) {
    const TensorCoreModel& unscaled = model.unscaled;
    BlockSpecials specials;
    BlockTerm terms[max_group + 1];
    int count = 0;
    for (int k = 0; k < unscaled.instruction_k; k += model.exact_products) {
        const Scale x = decode_scale(model.scale_format, a_scales[k / model.scale_block]);
        const Scale y = decode_scale(model.scale_format, b_scales[k / model.scale_block]);
        specials.nan = specials.nan || x.nan || y.nan;
        terms[count++] = scaled_term(model, a + k, b + k, x, y, specials);
    }
    terms[count++] = addend_term(unscaled, c, specials);
    if (specials.any()) return static_cast<std::uint32_t>(specials.result(unscaled.accumulator));
    int largest = unscaled.policies.exponent_floor;
    for (int i = 0; i < count; ++i) largest = terms[i].exponent > largest ? terms[i].exponent : largest;
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += aligned_term(unscaled, terms[i], largest);
    const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    return static_cast<std::uint32_t>(round_block_sum(unscaled, sum < 0, magnitude, largest - unscaled.fraction_bits));
}

/// D = A * B + C with scales: A is m x k, B is k x n, both values of the element format in fp32; C and D are m x n. The
/// scales of A are m x ceil(k / scale_block), those of B ceil(k / scale_block) x n, values of the scale format in fp32;
/// an array may be null: all scales are 1 then, C is +0.
struct BlockScaledProblem {
    GemmProblem product{};
    MatrixView a_scales{};
    MatrixView b_scales{};
};

/// Each element of D is a chain of block_scaled_dot in ascending k, the last instruction filled with zeros. Uses
/// OpenMP's threads. Throws std::invalid_argument for shapes that do not fit, missing arrays, and scales that are
/// negative or no values of their format.
void gemm(const BlockScaledModel& model, const BlockScaledProblem& problem);

/// The same by block_scaled_dot alone: the definition that fast paths are tested against, and one element of it.
void gemm_plain(const BlockScaledModel& model, const BlockScaledProblem& problem);
float block_scaled_element(const BlockScaledModel& model, const BlockScaledProblem& problem, std::int64_t i,
                           std::int64_t j);

}  // namespace ulp
