#include <algorithm>

#include "softfloat/arithmetic.hpp"
#include "softfloat/array/environment.hpp"
#include "softfloat/array/kernels/native_half.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp::array {
namespace {

/// The scalar operation, in the word that the format needs.
template <class Word>
std::uint64_t operate_bits(const FloatFormat& format, Operation operation, std::uint64_t a, std::uint64_t b,
                           std::uint64_t c, Context& context) {
    switch (operation) {
        case op_add: return add_bits<Word>(format, a, b, context);
        case op_subtract: return subtract_bits<Word>(format, a, b, context);
        case op_multiply: return multiply_bits<Word>(format, a, b, context);
        case op_divide: return divide_bits<Word>(format, a, b, context);
        case op_sqrt: return sqrt_bits<Word>(format, a, context);
        case op_fma: return fma_bits<Word>(format, a, b, c, context);
        case operations: break;
    }
    return 0;
}

void operate_each(const FloatFormat& format, Operation operation, const Operands& operands, void* out,
                  std::size_t count, const ArrayContext& context) {
    const std::size_t bytes = bytes_of(format);
    const auto word = [&](const void* words, std::size_t i) {
        return words == nullptr ? std::uint64_t{0} : load_word(words, bytes, i);
    };
    const auto operate = format.precision() <= 24 ? operate_bits<std::uint64_t> : operate_bits<UInt128>;
    for (std::size_t i = 0; i < count; ++i) {
        Context scalar = scalar_context(context, i);
        store_word(out, bytes, i,
                   operate(format, operation, word(operands.a, i), word(operands.b, i), word(operands.c, i), scalar));
    }
}

/// Whether everything stays well within fp32's exponents: see kernels_arithmetic.hpp.
bool fits_single(const FloatFormat& format) {
    return format.precision() <= 11 && format.smallest_exponent() >= -60 && format.emax() <= 60;
}

bool has_processor(Rounding rounding) {
    return rounding == Rounding::nearest_even || rounding == Rounding::toward_zero || rounding == Rounding::up ||
           rounding == Rounding::down;
}

/// A kernel that does all the work, if there is one.
ArithmeticKernel direct_kernel(const FloatFormat& format, Operation operation, const ArrayContext& context, Simd simd) {
    const KernelTable& kernels = kernels_of<KernelTable>(simd);
    if (context.saturate) return nullptr;  // these know infinity
    const bool nearest = context.rounding == Rounding::nearest_even;
    if (format == formats::bf16 && nearest) return kernels.bfloat_nearest[operation];
    const bool of_processor = has_processor(context.rounding);
    if (format == formats::fp32 && of_processor) return kernels.single[operation];
#if defined(__x86_64__)
    if (format == formats::fp16 && of_processor && simd == Simd::avx512_fp16) return native_half_kernels[operation];
#endif
    return format == formats::fp16 && nearest ? kernels.half_nearest[operation] : nullptr;
}

/// Blocks of operands decoded to fp32, operated on to odd, and rounded. False if some step has no kernel.
bool operate_blocks(const FloatFormat& format, Operation operation, const Operands& operands, void* out,
                    std::size_t count, const ArrayContext& context, const KernelTable& kernels) {
    const auto reader = Reader::make(format, kernels);
    auto writer = Writer::make(format, context, kernels);
    // Two bits more than the format's in fp32, or none at all where odd is the rounding.
    const bool odd_is_result = context.rounding == Rounding::odd && format == formats::fp32;
    if (!reader || !writer || (format.precision() > 22 && !odd_is_result)) return false;
    const auto kernel = (fits_single(format) ? kernels.odd_by_single : kernels.odd_by_double)[operation];
    const FloatEnvironment environment(Rounding::nearest_even);
    alignas(64) std::uint32_t buffer[3][block_size];
    for (std::size_t begin = 0; begin < count; begin += block_size) {
        const std::size_t now = std::min(block_size, count - begin);
        const auto read = [&](const void* words, int i) {
            return words == nullptr ? nullptr : reader->read(words, begin, now, buffer[i]);
        };
        const void* const a = read(operands.a, 0);
        const void* const b = read(operands.b, 1);
        const void* const c = read(operands.c, 2);
        kernel(writer->plan(), a, b, c, buffer[0], now);
        writer->write(buffer[0], begin, now, out);
    }
    return true;
}

}  // namespace

void operate_words(const FloatFormat& format, Operation operation, const Operands& operands, void* out,
                   std::size_t count, const ArrayContext& context, Simd simd) {
    require_sensible(context);
    // The kernels do not flush operands, and a random number must meet the exact result.
    const bool by_kernels = !context.flush_inputs && !context.flush_outputs && context.rounding != Rounding::stochastic;
    if (const auto direct = by_kernels ? direct_kernel(format, operation, context, simd) : nullptr) {
        const FloatEnvironment environment(context.rounding);
        const auto plan = make_plan(format, context);
        direct(plan->constants, operands.a, operands.b, operands.c, out, count);
    } else if (!by_kernels ||
               !operate_blocks(format, operation, operands, out, count, context, kernels_of<KernelTable>(simd))) {
        operate_each(format, operation, operands, out, count, context);  // integers only
    }
}

}  // namespace ulp::array
