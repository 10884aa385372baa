// Matrix units that are chains or trees of ordinary IEEE operations: fp64 on NVIDIA, AVX512-BF16 and AMX on x86, the
// older matrix cores of AMD.
//
// x86: Intel 64 and IA-32 Software Developer's Manual, VDPBF16PS and TDPBF16PS (operands and results flushed, nearest
// even, no exceptions); order and NaNs as seen on a processor. AMD: Xie et al., arXiv 2511.10909.
#pragma once

#include <cstdint>

#include "softfloat/arithmetic.hpp"
#include "softfloat/matrix_units/block_dot.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp {

/// The NaN of an operation with these operands, in the format of all three.
constexpr std::uint64_t chained_nan(const TensorCoreModel& model, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    const FloatFormat& format = model.accumulator;
    if (model.nan == NanStyle::all_ones) return tensor_core_nan(format);
    if (model.nan == NanStyle::quiet) return nan_bits(format);
    const std::uint64_t quiet_bit = std::uint64_t{1} << (format.fraction_bits - 1);
    const std::uint64_t x86_order[] = {a, b, c};
    const std::uint64_t dmma_order[] = {b, c, a};
    for (const std::uint64_t operand : model.nan == NanStyle::x86 ? x86_order : dmma_order) {
        if (is_nan(format, operand)) return operand | quiet_bit;
    }
    return nan_bits(format) | pack(format, true, 0);
}

constexpr Context chained_context(const TensorCoreModel& model) {
    return {
        .rounding = model.rounding, .flush_inputs = model.flush_subnormals, .flush_outputs = model.flush_subnormals};
}

/// The result of an operation: beyond the range it is an infinity in every rounding.
constexpr std::uint64_t chained_result(const TensorCoreModel& model, std::uint64_t d, const Context& context) {
    const bool beyond = (context.flags & flag::overflow) != 0;
    return beyond ? infinity_bits(model.accumulator, sign_of(model.accumulator, d)) : d;
}

/// a * b + c with one rounding; a, b and c in the accumulator's format.
constexpr std::uint64_t chained_fma(const TensorCoreModel& model, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    const FloatFormat& format = model.accumulator;
    Context context = chained_context(model);
    const std::uint64_t d = format.precision() > 24 ? fma_bits<UInt128>(format, a, b, c, context)
                                                    : fma_bits<std::uint64_t>(format, a, b, c, context);
    return is_nan(format, d) ? chained_nan(model, a, b, c) : chained_result(model, d, context);
}

/// x + y, rounded.
constexpr std::uint64_t chained_add(const TensorCoreModel& model, std::uint64_t x, std::uint64_t y) {
    const FloatFormat& format = model.accumulator;
    Context context = chained_context(model);
    const std::uint64_t sum = add_bits<std::uint64_t>(format, x, y, context);
    return is_nan(format, sum) ? chained_nan(model, x, y, y) : chained_result(model, sum, context);
}

/// Whether an operand or c counts as +0 whatever its sign.
constexpr bool becomes_positive_zero(const TensorCoreModel& model, const FloatFormat& format, std::uint64_t code) {
    if (!model.positive_input_zeros) return false;
    const std::uint64_t smallest_kept = model.flush_subnormals ? std::uint64_t{1} << format.fraction_bits : 1;
    return magnitude_of(format, code) < smallest_kept;
}

/// An operand in the accumulator's format: exact; x86 keeps a NaN's bits.
constexpr std::uint64_t widened(const TensorCoreModel& model, const FloatFormat& format, std::uint64_t code) {
    if (becomes_positive_zero(model, format, code)) return 0;
    if (format == model.accumulator) return code;
    if (is_nan(format, code) && model.nan == NanStyle::x86) {
        const int added = model.accumulator.fraction_bits - format.fraction_bits;
        return pack(model.accumulator, sign_of(format, code),
                    model.accumulator.infinity_magnitude() | (magnitude_of(format, code) & format.fraction_mask())
                                                                 << added);
    }
    Context exact = chained_context(model);
    return convert_bits(model.accumulator, format, code, exact);
}

/// The sum of products [first, first + count), each rounded, in a balanced tree.
template <class Code>
constexpr std::uint64_t pairwise_sum(const TensorCoreModel& model, const Code* a, const Code* b, int first, int count) {
    if (count == 1) {
        const std::uint64_t zero = pack(model.accumulator, model.variation.negative_zeros, 0);
        return chained_fma(model, widened(model, model.a_format, a[first]), widened(model, model.b_format, b[first]),
                           zero);
    }
    const int half = count / 2;
    return chained_add(model, pairwise_sum(model, a, b, first, half),
                       pairwise_sum(model, a, b, first + half, count - half));
}

/// Products and c added exactly, rounded once.
template <class Code>
constexpr std::uint64_t exact_group(const TensorCoreModel& model, const Code* a, const Code* b, std::uint64_t c,
                                    int count) {
    BlockSpecials specials;
    ExactSum sum;
    for (int k = 0; k < count; ++k) {
        const BlockTerm term =
            product_term(model, decoded(model.a_format, a[k]), decoded(model.b_format, b[k]), specials);
        if (term.significand != 0) sum.add(term.sign, term.exponent - term.point, term.significand);
    }
    addend_term(model, c, specials);
    if (specials.any()) return specials.nan ? chained_nan(model, c, c, c) : specials.result(model.accumulator);
    sum.add(decode<std::uint64_t>(model.accumulator, c));
    const auto value = sum.value();
    if (value.kind == Kind::zero) return 0;
    Context context = chained_context(model);
    const auto sum_bits = round_to_bits(model.accumulator, value.sign, value.exponent, value.significand, context);
    return chained_result(model, sum_bits, context);
}

/// One instruction of these units. a and b hold instruction_k codes, c is a storage word of the accumulator.
template <class Code>
constexpr Code chained_instruction(const TensorCoreModel& model, const Code* a, const Code* b, Code c) {
    const auto left = [&](int k) { return widened(model, model.a_format, a[k]); };
    const auto right = [&](int k) { return widened(model, model.b_format, b[k]); };
    std::uint64_t sum = becomes_positive_zero(model, model.accumulator, c) ? 0 : c;
    switch (model.summation) {
        case Summation::fma_chain:
            for (int k = 0; k < model.instruction_k; ++k) sum = chained_fma(model, left(k), right(k), sum);
            break;
        case Summation::fma_pairs:
            for (int k = 0; k < model.instruction_k; k += 2) {
                sum = chained_fma(model, left(k + 1), right(k + 1), sum);
                sum = chained_fma(model, left(k), right(k), sum);
            }
            break;
        case Summation::even_odd_fma: {
            std::uint64_t chains[2] = {0, 0};
            for (int k = 0; k < model.instruction_k; ++k) {
                chains[k % 2] = chained_fma(model, left(k), right(k), chains[k % 2]);
            }
            sum = chained_add(model, c, chained_add(model, chains[0], chains[1]));
            break;
        }
        case Summation::pairwise:
            for (int k = 0; k < model.instruction_k; k += model.group_size) {
                sum = chained_add(model, sum, pairwise_sum(model, a, b, k, model.group_size));
            }
            break;
        case Summation::exact:
            for (int k = 0; k < model.instruction_k; k += model.group_size) {
                sum = exact_group(model, a + k, b + k, sum, model.group_size);
            }
            break;
        default: break;
    }
    return static_cast<Code>(sum);
}

}  // namespace ulp
