// Dot products of any length as a chain of matrix instructions, each a chain of fused groups.
#pragma once

#include <cstdint>
#include <type_traits>

#include "softfloat/arithmetic.hpp"
#include "softfloat/matrix_units/block_dot.hpp"
#include "softfloat/matrix_units/chained_units.hpp"
#include "softfloat/matrix_units/late_addend.hpp"
#include "softfloat/matrix_units/model.hpp"
#include "softfloat/matrix_units/varied_group.hpp"

namespace ulp {

/// Most products of one instruction in any model.
inline constexpr int max_instruction_k = max_group;

/// The fp16 instruction that sm_90 and sm_100 run, twice, in place of an FP8 mma.sync of the same k (seen in the code
/// that ptxas 13.0 emits, and proven by the recordings of H100, H200 and B200).
constexpr TensorCoreModel emulating_hmma(const TensorCoreModel& model) {
    TensorCoreModel hmma = model;
    hmma.summation = Summation::fused;
    hmma.a_format = formats::fp16;
    hmma.b_format = formats::fp16;
    hmma.instruction_k = model.instruction_k / 2;
    hmma.group_size = model.group_size < hmma.instruction_k ? model.group_size : hmma.instruction_k;
    return hmma;
}

/// Which of the two HMMAs takes element k of an emulated FP8 instruction: k mod 4 in {0, 1} the first, {2, 3} the
/// second.
constexpr bool in_second_hmma(int k) { return (k & 2) != 0; }

/// The sum of two numbers of one format, rounded to nearest even, with NVIDIA's NaN.
constexpr std::uint64_t add_nearest(const FloatFormat& format, std::uint64_t x, std::uint64_t y) {
    Context context;
    const std::uint64_t sum = add_bits<std::uint64_t>(format, x, y, context);
    return is_nan(format, sum) ? tensor_core_nan(format) : sum;
}

/// The groups of one fused instruction in ascending k, each result the next c. a and b hold instruction_k operands.
template <class Operand, class Code>
constexpr Code fused_instruction(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c) {
    for (int k = 0; k < model.instruction_k; k += model.group_size) {
        const int left = model.instruction_k - k;
        c = block_dot(model, a + k, b + k, c, left < model.group_size ? left : model.group_size);
    }
    return c;
}

/// An FP8 operand as the fp16 operand that the emulation makes of it: the same value, with fp16's subnormals.
constexpr std::uint64_t fp16_code(const FloatFormat& format, std::uint64_t code) {
    Context exact;
    return convert_bits(formats::fp16, format, code, exact);
}
constexpr DecodedOperand fp16_operand(const FloatFormat& format, std::uint64_t code) {
    return decoded(formats::fp16, fp16_code(format, code));
}
constexpr DecodedOperand fp16_operand(const FloatFormat&, const DecodedOperand& x) {
    if (x.kind != Kind::finite) return x;
    Context exact;
    return decoded(formats::fp16, round_to_bits(formats::fp16, x.sign, x.exponent, x.significand, exact));
}

/// One FP8 mma.sync of sm_90 and sm_100: exact conversion to fp16, two chained HMMAs from zero, then c is added.
template <class Operand, class Code>
constexpr Code fp8_by_hmma_instruction(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c) {
    const TensorCoreModel hmma = emulating_hmma(model);
    DecodedOperand halves_a[2][max_instruction_k / 2];
    DecodedOperand halves_b[2][max_instruction_k / 2];
    int filled[2] = {0, 0};
    for (int k = 0; k < model.instruction_k; ++k) {
        const int half = in_second_hmma(k) ? 1 : 0;
        halves_a[half][filled[half]] = fp16_operand(model.a_format, a[k]);
        halves_b[half][filled[half]] = fp16_operand(model.b_format, b[k]);
        ++filled[half];
    }
    Code sum = fused_instruction(hmma, halves_a[0], halves_b[0], Code{0});
    sum = fused_instruction(hmma, halves_a[1], halves_b[1], sum);
    return static_cast<Code>(add_nearest(model.accumulator, sum, c));
}

/// The groups of one instruction of CDNA 3.
template <class Operand, class Code>
constexpr Code late_addend_instruction(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c) {
    for (int k = 0; k < model.instruction_k; k += model.group_size) {
        c = late_addend_group(model, a + k, b + k, c, model.group_size);
    }
    return c;
}

/// Whether a unit works on decoded operands; the others need codes (on x86 a NaN's bits reach the result).
constexpr bool takes_decoded(const TensorCoreModel& model) {
    return model.summation == Summation::fused || model.summation == Summation::fp8_by_hmma ||
           model.summation == Summation::late_addend || model.summation == Summation::late_addend_even_odd;
}

/// The instruction without what its variation does to its operands as a whole.
template <class Operand, class Code>
constexpr Code plain_instruction(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c) {
    switch (model.summation) {
        case Summation::fused: return fused_instruction(model, a, b, c);
        case Summation::fp8_by_hmma: return fp8_by_hmma_instruction(model, a, b, c);
        case Summation::late_addend:
        case Summation::late_addend_even_odd: return late_addend_instruction(model, a, b, c);
        default: break;
    }
    if constexpr (std::is_integral_v<Operand>) {
        return chained_instruction(model, a, b, c);
    } else {
        return static_cast<Code>(tensor_core_nan(model.accumulator));  // broken precondition
    }
}

/// The k that an instruction takes as its i-th product.
constexpr int lane_at(LaneOrder order, int k, int i) {
    if (order == LaneOrder::descending) return k - 1 - i;
    if (order == LaneOrder::ascending) return i;
    const int evens = (k + 1) / 2;
    return i < evens ? 2 * i : 2 * (i - evens) + 1;
}

/// Whether a product counts as not zero for a c that is dropped beside products.
template <class Operand>
constexpr bool is_product(const TensorCoreModel& model, const Operand& a, const Operand& b) {
    BlockSpecials specials;
    const BlockTerm term = varied_product(model, decoded(model.a_format, a), decoded(model.b_format, b), specials);
    return specials.any() || term.significand != 0;
}

/// c + the sum of an instruction's products, to nearest even.
constexpr std::uint64_t add_late(const TensorCoreModel& model, std::uint64_t products, std::uint64_t c) {
    const FloatFormat& format = model.accumulator;
    const GroupVariation& variation = model.variation;
    const std::uint64_t sum = add_nearest(format, products, variation.flush_addend ? flushed(format, c) : c);
    if (is_nan(format, sum)) return varied_nan(model);
    return variation.flush_results ? flushed(format, sum) : sum;
}

/// An instruction that takes its products in another order, or c at another time.
template <class Operand, class Code>
constexpr Code varied_instruction(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c) {
    Operand x[max_instruction_k];
    Operand y[max_instruction_k];
    const AddendEntry entry = model.variation.addend;
    bool products = false;
    for (int i = 0; i < model.instruction_k; ++i) {
        const int k = lane_at(model.variation.order, model.instruction_k, i);
        x[i] = a[k];
        y[i] = b[k];
        if (entry == AddendEntry::beside_zeros_alone) products = products || is_product(model, x[i], y[i]);
    }
    if (entry == AddendEntry::after_products) {
        return static_cast<Code>(add_late(model, plain_instruction(model, x, y, Code{0}), c));
    }
    const bool drops = entry == AddendEntry::never || (entry == AddendEntry::beside_zeros_alone && products);
    return plain_instruction(model, x, y, drops ? Code{0} : c);
}

/// One instruction: a and b hold instruction_k operands, c is a storage word of the accumulator. Decoded operands only
/// where takes_decoded(model).
template <class Operand, class Code>
constexpr Code instruction_dot(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c) {
    return model.variation.of_instruction() ? varied_instruction(model, a, b, c) : plain_instruction(model, a, b, c);
}

/// a[0] b[0] + ... + a[k-1] b[k-1] + c by instructions in ascending k; the last one is filled up with zeros, as a
/// kernel at the edge of a matrix does. k = 0 gives c. Operands are storage words or decoded ones.
template <class Operand, class Code>
constexpr Code chain_dot(const TensorCoreModel& model, const Operand* a, const Operand* b, Code c, std::int64_t k) {
    const std::int64_t whole = k - k % model.instruction_k;
    for (std::int64_t first = 0; first < whole; first += model.instruction_k) {
        c = instruction_dot(model, a + first, b + first, c);
    }
    if (whole == k) return c;
    Operand x[max_instruction_k];
    Operand y[max_instruction_k];
    for (std::int64_t i = 0; i < model.instruction_k; ++i) {
        x[i] = whole + i < k ? a[whole + i] : Operand{};
        y[i] = whole + i < k ? b[whole + i] : Operand{};
    }
    return instruction_dot(model, x, y, c);
}

}  // namespace ulp
