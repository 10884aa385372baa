// Dot products of any length as a chain of matrix instructions, each a chain of fused groups.
#pragma once

#include <cstdint>

#include "softfloat/arithmetic.hpp"
#include "softfloat/tensor_core/block_dot.hpp"
#include "softfloat/tensor_core/model.hpp"

namespace ulp {

/// Most products of one instruction in any model.
inline constexpr int max_instruction_k = 64;

/// The fp16 instruction that sm_90 and sm_100 run, twice, in place of an FP8 mma.sync of the same k (seen in the code
/// that ptxas 13.0 emits, and proven by the recordings of H100, H200 and B200).
constexpr TensorCoreModel emulating_hmma(const TensorCoreModel& model) {
    TensorCoreModel hmma = model;
    hmma.summation = Summation::fused;
    hmma.a_format = formats::fp16;
    hmma.b_format = formats::fp16;
    hmma.instruction_k = model.instruction_k / 2;
    hmma.group = model.group < hmma.instruction_k ? model.group : hmma.instruction_k;
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

/// The groups of one fused instruction in ascending k, each result the next c. a and b hold instruction_k codes.
template <class Code>
constexpr Code fused_instruction(const TensorCoreModel& model, const Code* a, const Code* b, Code c) {
    for (int k = 0; k < model.instruction_k; k += model.group) {
        const int left = model.instruction_k - k;
        c = block_dot(model, a + k, b + k, c, left < model.group ? left : model.group);
    }
    return c;
}

/// One FP8 mma.sync of sm_90 and sm_100: exact conversion to fp16, two chained HMMAs from zero, then c is added.
template <class Code>
constexpr Code fp8_by_hmma_instruction(const TensorCoreModel& model, const Code* a, const Code* b, Code c) {
    const TensorCoreModel hmma = emulating_hmma(model);
    Code halves_a[2][max_instruction_k / 2] = {};
    Code halves_b[2][max_instruction_k / 2] = {};
    int filled[2] = {0, 0};
    Context exact;
    for (int k = 0; k < model.instruction_k; ++k) {
        const int half = in_second_hmma(k) ? 1 : 0;
        halves_a[half][filled[half]] = static_cast<Code>(convert_bits(formats::fp16, model.a_format, a[k], exact));
        halves_b[half][filled[half]] = static_cast<Code>(convert_bits(formats::fp16, model.b_format, b[k], exact));
        ++filled[half];
    }
    Code sum = fused_instruction(hmma, halves_a[0], halves_b[0], Code{0});
    sum = fused_instruction(hmma, halves_a[1], halves_b[1], sum);
    return static_cast<Code>(add_nearest(model.accumulator, sum, c));
}

/// One instruction: a and b hold instruction_k codes, c one of the accumulator.
template <class Code>
constexpr Code instruction_dot(const TensorCoreModel& model, const Code* a, const Code* b, Code c) {
    if (model.mutation.late_addend) {
        return static_cast<Code>(add_nearest(model.accumulator, fused_instruction(model, a, b, Code{0}), c));
    }
    if (model.summation == Summation::fp8_by_hmma) return fp8_by_hmma_instruction(model, a, b, c);
    return fused_instruction(model, a, b, c);
}

/// a[0] b[0] + ... + a[k-1] b[k-1] + c by instructions in ascending k; the last one is filled up with zeros, as a
/// kernel at the edge of a matrix does. k = 0 gives c. Element i of a lies at a[i * a_stride].
template <class Code>
constexpr Code chain_dot(const TensorCoreModel& model, const Code* a, const Code* b, Code c, std::int64_t k,
                         std::int64_t a_stride = 1, std::int64_t b_stride = 1) {
    Code x[max_instruction_k] = {};
    Code y[max_instruction_k] = {};
    for (std::int64_t first = 0; first < k; first += model.instruction_k) {
        for (int i = 0; i < model.instruction_k; ++i) {
            const std::int64_t element = first + i;
            x[i] = element < k ? a[element * a_stride] : Code{0};
            y[i] = element < k ? b[element * b_stride] : Code{0};
        }
        c = instruction_dot(model, x, y, c);
    }
    return c;
}

}  // namespace ulp
