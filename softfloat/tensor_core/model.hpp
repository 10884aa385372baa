// What a matrix unit computes, as data: one row of parameters an instruction. block_dot.hpp reads the row.
//
// Plain data without pointers, so a row can be passed by value to a CUDA kernel.
#pragma once

#include <cstdint>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

namespace ulp {

/// How the products of an instruction are added.
enum class Summation : std::uint8_t {
    fused,         // groups of products and c, aligned, truncated and added as integers (block_dot.hpp)
    fp8_by_hmma,   // FP8 inputs as fp16 through two chained fused blocks, then an ordinary addition of c
    fma_chain,     // one fused multiply-add after the other in ascending k
    fma_pairs,     // chains of two fused multiply-adds: the odd product of a pair first (x86 vdpbf16ps)
    even_odd_fma,  // chains over the even and over the odd products, added, then added to c (x86 AMX tdpbf16ps)
    pairwise,      // products rounded, added in pairs, the pairs' sum added to c (AMD CDNA 2)
    exact,         // products and c added exactly, one rounding (AMD CDNA 1, one reading)
    fused_late_c   // products fused, then c aligned to that sum (AMD CDNA 3)
};

/// A product with a zero operand, where the largest exponent of a group is sought.
enum class ZeroProduct : std::uint8_t {
    ignored,
    operand_at_fp32_emin,  // takes part, the zero operand's exponent counting as -126
    operand_as_subnormal   // takes part, the zero operand's exponent counting as its format's emin
};

/// A zero c, where the largest exponent of a group is sought.
enum class ZeroAddend : std::uint8_t { ignored, at_fp32_emin, at_accumulator_emin };

/// The exponent of a subnormal c.
enum class SubnormalAddend : std::uint8_t { at_emin, at_leading_bit };

/// The sign of a nonzero sum that rounds to zero.
enum class UnderflowSign : std::uint8_t { positive, kept };

inline constexpr int no_exponent_floor = -100000;

/// Points on which the published models disagree (policies.hpp names the hypotheses).
struct BlockPolicies {
    ZeroProduct zero_product = ZeroProduct::operand_at_fp32_emin;
    ZeroAddend zero_addend = ZeroAddend::at_fp32_emin;
    SubnormalAddend subnormal_addend = SubnormalAddend::at_emin;
    UnderflowSign underflow_sign = UnderflowSign::positive;
    int exponent_floor = no_exponent_floor;  // the largest exponent of a group is at least this

    constexpr bool operator==(const BlockPolicies&) const = default;
};

/// Ways to be wrong. No hardware does these; the tests replay recordings with each to see it fail.
struct BlockMutation {
    bool normalise_products = false;             // products brought to [1, 2) before the largest exponent is sought
    Rounding alignment = Rounding::toward_zero;  // or down: how aligned terms are cut
    bool late_addend = false;                    // c added to the rounded sum of the products

    constexpr bool operator==(const BlockMutation&) const = default;
};

/// One matrix instruction. c and d have the accumulator's format.
struct TensorCoreModel {
    FloatFormat a_format = formats::fp16;
    FloatFormat b_format = formats::fp16;
    FloatFormat accumulator = formats::fp32;
    Summation summation = Summation::fused;
    int instruction_k = 16;                     // products of one instruction
    int group = 16;                             // products of one fused group
    int fraction_bits = 25;                     // F: aligned terms are multiples of 2^(largest exponent - F)
    Rounding rounding = Rounding::toward_zero;  // of a group's sum
    int output_fraction_bits = 23;              // kept by that rounding; fewer than the accumulator has for FP8
    bool flush_subnormals = false;              // of inputs, c and results
    BlockPolicies policies{};
    BlockMutation mutation{};

    constexpr bool operator==(const TensorCoreModel&) const = default;

    /// The format of a group's rounded sum: the accumulator with fewer fraction bits, in the same word.
    [[nodiscard]] constexpr FloatFormat sum_format() const {
        FloatFormat format = accumulator;
        format.padding_bits += format.fraction_bits - output_fraction_bits;
        format.fraction_bits = output_fraction_bits;
        return format;
    }
};

static_assert(TensorCoreModel{.output_fraction_bits = 13}.sum_format() == ieee_format(8, 13, 10));

}  // namespace ulp
