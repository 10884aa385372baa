// The fused group on operands that were decoded before: the fast twin of block_dot
// (softfloat/matrix_units/block_dot.hpp), for a GPU that checks billions of groups. An operand serves a whole row or
// column of a tile, so it is decoded once. Infinities and NaNs are left to block_dot: they are rare where speed
// matters.
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/chain_dot.hpp"

namespace ulp::gpu {

/// (-1)^sign * significand * 2^(exponent - fraction bits). A zero has the exponent with which it takes part in the
/// search for the largest one.
struct Int32Operand {
    std::int32_t significand;  // signed
    std::int32_t exponent;     // of the unit digit; `special` for infinities and NaNs
};
inline constexpr std::int32_t special_exponent = 1 << 20;
/// Below any sum of real exponents, and still so after another zero's is added.
inline constexpr std::int32_t ignored_exponent = -40000;

/// What the groups need of a model, worked out once.
struct DecodedModel {
    TensorCoreModel model;  // of the fused groups: for emulated FP8 that of the fp16 instruction
    FloatFormat a_source;   // the operands' own formats, before an emulation converts them
    FloatFormat b_source;
    bool emulated;  // FP8 through two fp16 instructions
    int k;          // products of the whole instruction
    int align_up;   // F - point: a product in units of 2^(largest - F), if it has the largest exponent
};

/// Whether the decoded path knows the model: fused groups, or FP8 through them, without mutations.
constexpr bool has_decoded_path(const TensorCoreModel& model) {
    const bool fused = model.summation == Summation::fused || model.summation == Summation::fp8_by_hmma;
    const FloatFormat factor = model.summation == Summation::fp8_by_hmma ? formats::fp16 : model.a_format;
    const int point = 2 * factor.fraction_bits;
    // Aligned products stay below 2^30, so that 32-bit words hold them.
    return fused && !is_varied(model) && !model.flush_subnormals && point <= model.fraction_bits &&
           model.fraction_bits <= 28 && model.a_format.fraction_bits <= 10 && model.b_format.fraction_bits <= 10;
}

constexpr DecodedModel decoded_model(const TensorCoreModel& model) {
    const bool emulated = model.summation == Summation::fp8_by_hmma;
    const TensorCoreModel groups = emulated ? emulating_hmma(model) : model;
    return {groups,
            model.a_format,
            model.b_format,
            emulated,
            model.instruction_k,
            groups.fraction_bits - groups.a_format.fraction_bits - groups.b_format.fraction_bits};
}

/// Where product k of an instruction stands after the emulation has sorted them: groups are then contiguous.
constexpr int decoded_position(const DecodedModel& m, int k) {
    if (!m.emulated) return k;
    return k / 4 * 2 + k % 2 + (in_second_hmma(k) ? m.k / 2 : 0);
}

constexpr Int32Operand decode_operand(const DecodedModel& m, FloatFormat source, FloatFormat factor,
                                      std::uint32_t code) {
    std::uint64_t bits = code;
    if (m.emulated) {
        Context exact;
        bits = convert_bits(factor, source, bits, exact);
    }
    const auto value = decode<std::uint64_t>(factor, bits);
    switch (value.kind) {
        case Kind::nan:
        case Kind::infinity: return {0, special_exponent};
        case Kind::zero: {
            const ZeroProduct policy = m.model.policies.zero_product;
            return {0, policy == ZeroProduct::ignored ? ignored_exponent : zero_operand_exponent(factor, policy)};
        }
        case Kind::finite: break;
    }
    const auto magnitude = static_cast<std::int32_t>(value.significand);
    return {value.sign ? -magnitude : magnitude, unit_exponent(factor, value)};
}
constexpr Int32Operand decode_a(const DecodedModel& m, std::uint32_t code) {
    return decode_operand(m, m.a_source, m.model.a_format, code);
}
constexpr Int32Operand decode_b(const DecodedModel& m, std::uint32_t code) {
    return decode_operand(m, m.b_source, m.model.b_format, code);
}

/// magnitude >> distance toward zero, any distance from 0 up, with the sign put back.
constexpr std::int32_t align_product(std::int32_t product, int up, int distance) {
    const auto magnitude = static_cast<std::uint32_t>(product < 0 ? -product : product) << up;
    const auto kept = static_cast<std::int32_t>(distance < 32 ? magnitude >> distance : 0);
    return product < 0 ? -kept : kept;
}

/// A group of `Group` products and c, which is replaced by the result. False, and c untouched, where c is an infinity
/// or NaN; no operand may be special. `Group` is a template argument so that a GPU keeps the products in registers.
template <int Group>
constexpr bool decoded_group(const DecodedModel& m, const Int32Operand* a, const Int32Operand* b, std::uint32_t& c) {
    BlockSpecials specials;
    const BlockTerm addend = addend_term(m.model, c, specials);
    if (specials.any()) return false;
    std::int32_t products[Group];
    std::int32_t exponents[Group];
    std::int32_t largest = m.model.policies.exponent_floor;
    if (addend.exponent > largest) largest = addend.exponent;
    for (int k = 0; k < Group; ++k) {
        products[k] = a[k].significand * b[k].significand;
        exponents[k] = a[k].exponent + b[k].exponent;
        if (exponents[k] > largest) largest = exponents[k];
    }
    std::int64_t sum = aligned_term(m.model, addend, largest);
    for (int k = 0; k < Group; ++k) sum += align_product(products[k], m.align_up, largest - exponents[k]);
    const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    c = static_cast<std::uint32_t>(round_block_sum(m.model, sum < 0, magnitude, largest - m.model.fraction_bits));
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
