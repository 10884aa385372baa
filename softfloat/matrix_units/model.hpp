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
    fused,                // groups of products and c, aligned, truncated and added as integers (block_dot.hpp)
    fp8_by_hmma,          // FP8 inputs as fp16 through two chained fused blocks, then an ordinary addition of c
    fma_chain,            // one fused multiply-add after the other in ascending k
    fma_pairs,            // the same, but of each two products the second first (x86 vdpbf16ps)
    even_odd_fma,         // chains over the even and over the odd products from zero, added, then c (x86 tdpbf16ps)
    pairwise,             // groups: products rounded, added in pairs, and the pairs' sum added to c (AMD CDNA 1 and 2)
    exact,                // groups: products and c added exactly, one rounding (AMD CDNA 1, another reading)
    late_addend,          // groups: products aligned and truncated, then c aligned to their sum (AMD CDNA 3)
    late_addend_even_odd  // the same with the even and the odd products apart (AMD CDNA 3, FP8)
};

/// The NaN that a unit makes of NaNs and invalid operations.
enum class NanStyle : std::uint8_t {
    all_ones,  // NVIDIA: every bit of the magnitude set
    quiet,     // the format's quiet NaN
    x86,       // the first NaN of a, b and c made quiet; for invalid operations the negative quiet NaN
    dmma       // NVIDIA's fp64 (seen on H100): the first NaN of b, c and a made quiet; invalid as x86
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

/// When c enters an instruction.
enum class AddendEntry : std::uint8_t {
    with_products,       // aligned and added with those of the first group
    after_products,      // added to the sum of the instruction's products, to nearest even
    beside_zeros_alone,  // as with_products, but it is dropped where a product of the instruction is not zero
    never
};

/// The order in which an instruction takes its products.
enum class LaneOrder : std::uint8_t {
    ascending,
    descending,
    even_first  // the products with even k, then those with odd k
};

/// What units described in files, black boxes and mutation tests do otherwise than the rows of the table do
/// (varied_group.hpp). All but `order` and `negative_zeros` belongs to fused groups.
struct GroupVariation {
    bool normalise_products = false;             // products brought to [1, 2) before the largest exponent is sought
    FloatFormat product_format{0, 0, 0};         // to which products are rounded, to nearest even; 0 bits: exact
    Rounding alignment = Rounding::toward_zero;  // how aligned terms are cut
    bool sticky = false;                         // an aligned term has one more bit, set if a bit below it was cut
    bool invert_opposing = false;                // terms against c's sign are inverted, one unit below their negation
    AddendEntry addend = AddendEntry::with_products;
    LaneOrder order = LaneOrder::ascending;
    bool flush_operands = false;  // subnormal ones count as zeros of their sign
    bool flush_addend = false;    // a subnormal c counts as a zero of its sign
    bool flush_results = false;   // of groups: a subnormal one underflows to zero
    bool saturate = false;        // a sum beyond the range gives the largest finite number
    bool negative_zeros = false;  // a sum of nothing but negative zeros is -0; else, and for products of pairs, +0

    constexpr bool operator==(const GroupVariation&) const = default;
    [[nodiscard]] constexpr bool rounds_products() const { return product_format.exponent_bits > 0; }
    /// Whether an instruction gives its groups other operands than it was given.
    [[nodiscard]] constexpr bool of_instruction() const {
        return order != LaneOrder::ascending || addend != AddendEntry::with_products;
    }
};

/// One matrix instruction. c and d have the accumulator's format.
struct TensorCoreModel {
    FloatFormat a_format = formats::fp16;
    FloatFormat b_format = formats::fp16;
    FloatFormat accumulator = formats::fp32;
    Summation summation = Summation::fused;
    int instruction_k = 16;                     // products of one instruction
    int group_size = 16;                        // products of one fused group
    int fraction_bits = 25;                     // F: aligned terms are multiples of 2^(largest exponent - F)
    Rounding rounding = Rounding::toward_zero;  // of a group's sum; of chains: of each operation
    int output_fraction_bits = 23;              // kept by that rounding; fewer than the accumulator has for FP8
    bool flush_subnormals = false;              // of inputs, c and results; they keep their sign
    bool positive_input_zeros = false;          // zeros among inputs and c, flushed ones too, count as +0
    NanStyle nan = NanStyle::all_ones;
    BlockPolicies policies{};
    GroupVariation variation{};

    constexpr bool operator==(const TensorCoreModel&) const = default;

    /// The format of a group's rounded sum: the accumulator with fewer fraction bits, in the same word.
    [[nodiscard]] constexpr FloatFormat sum_format() const {
        FloatFormat format = accumulator;
        format.padding_bits += format.fraction_bits - output_fraction_bits;
        format.fraction_bits = output_fraction_bits;
        return format;
    }
};

/// Whether the unit aligns the products of a group and c and adds them as integers, by way of fp16 instructions too.
constexpr bool is_fused(const TensorCoreModel& model) {
    return model.summation == Summation::fused || model.summation == Summation::fp8_by_hmma;
}

/// Whether the unit's steps vary from its summation's, as Arm's, gfx11's and those of files may, or its terms do not
/// fit 64 bits: then the plain definition of varied_group.hpp holds, and no kernel.
constexpr bool is_varied(const TensorCoreModel& model) {
    if (model.variation != GroupVariation{}) return true;
    if (model.summation != Summation::fused) return false;
    return model.fraction_bits > 35 || model.a_format.fraction_bits + model.b_format.fraction_bits > 20 ||
           model.accumulator.fraction_bits > 23 || model.nan != NanStyle::all_ones;
}

static_assert(TensorCoreModel{.output_fraction_bits = 13}.sum_format() == ieee_format(8, 13, 10));

}  // namespace ulp
