// The array kernels of one set of vector instructions, as functions. No inline functions: see
// softfloat/vector/simd_choice.hpp.
#pragma once

#include <cstddef>

#include "softfloat/array/operation.hpp"
#include "softfloat/array/plan.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::array {

/// Which exponents a kernel has to care about: what the rounding of magnitudes needs.
enum KernelRange : int {
    wide,              // the exponents of fp32
    narrow,            // fewer, so that subnormals need a growing cut
    no_negative_zero,  // narrow, and a zero has no sign
    ranges
};

/// `count` elements from `in` to `out`, which may be the same.
using RoundKernel = void (*)(const RoundingPlan&, const void* in, void* out, std::size_t count);

/// The same from fp64 words.
using RoundKernel64 = void (*)(const RoundingPlan64&, const void* in, void* out, std::size_t count);

/// Indexed by ulp::Rounding; up and down share a kernel.
inline constexpr int roundings = 7;

/// out = a op b, or sqrt(a), or a * b + c; the operands that an operation has not are null.
using ArithmeticKernel = void (*)(const RoundingPlan&, const void* a, const void* b, const void* c, void* out,
                                  std::size_t count);

/// The same where rounding is an addition; the control register must say toward zero. Returns how many elements, from
/// the first on, are done: fewer than `count` where the next one, within the next 16, is undecided.
using TruncatedKernel = std::size_t (*)(const RoundingPlan64&, const void* a, const void* b, const void* c, void* out,
                                        std::size_t count);
/// What the operands of these kernels are: fp16; bf16; fp32 words of a format with fewer digits, of fp32 itself.
enum Storage : int { as_half, as_bfloat, as_single, as_fp32, storages };
/// What is added to a magnitude, in units of its last place.
enum Fraction : int { a_half, random_fraction, fractions };

/// Words whose magnitudes are below `smallest`, that of the smallest normal number, become zeros of their sign. Whether
/// one of `count` is `smallest`, of either sign.
using FlushKernel = bool (*)(std::uint32_t smallest, const void* in, void* out, std::size_t count);
/// The random numbers of as many elements as the plan says, in the upper bits of words. All are of blocks whose numbers
/// have the same upper half.
using RandomKernel = void (*)(const RoundingPlan64&, std::uint32_t* words, std::size_t count);

/// A null entry says that there is no such kernel, and another way must be taken.
struct KernelTable {
    RoundKernel round[roundings][ranges];      // fp32 -> fp32 on the format's grid
    RoundKernel through_half;                  // fp32 -> fp32 on fp16's grid, to nearest even, without options
    RoundKernel encode16[roundings][ranges];   // fp32 -> 16-bit words
    RoundKernel encode8[roundings][ranges];    // fp32 -> 8-bit words
    RoundKernel decode16[ranges];              // 16-bit words -> fp32
    RoundKernel decode8[ranges];               // 8-bit words -> fp32
    RoundKernel64 round64[roundings][ranges];  // fp64 -> fp64 on the format's grid
    RoundKernel64 encode32_64[roundings][ranges];
    RoundKernel64 encode16_64[roundings][ranges];
    RoundKernel64 encode8_64[roundings][ranges];
    RoundKernel widen;                         // fp32 -> fp64
    RoundKernel narrow_odd;                    // fp64 -> fp32, to odd
    RoundKernel flush;                         // fp32 -> fp32: magnitudes below plan.operand_below become zeros
    FlushKernel flush_words16, flush_words32;  // storage words of fp16 and bf16; of fp32 and tf32
    RandomKernel random_words;
    ArithmeticKernel odd_by_single[operations];  // fp32 -> fp32, to odd: see kernels_arithmetic.hpp
    ArithmeticKernel odd_by_double[operations];
    ArithmeticKernel odd_in_double[operations];    // fp32 -> fp64, to odd
    ArithmeticKernel single[operations];           // fp32 -> fp32 in the rounding of the processor's control register
    ArithmeticKernel half_nearest[operations];     // fp16 -> fp16, to nearest even, without options
    ArithmeticKernel half[roundings][operations];  // fp16 -> fp16 as the plan says; none for stochastic
    ArithmeticKernel bfloat_nearest[operations];   // bf16 -> bf16, to nearest even
    bool bfloat_has_options;                       // ... and flushes and saturates as the plan says
    // By storage and fraction: see kernels_truncated.hpp. None for fp16 where the kit has no instructions for it.
    TruncatedKernel truncated[storages][fractions][operations];

    static const KernelTable portable, avx2, avx512, neon;  // chosen by kernels_of (softfloat/vector/dispatch.hpp)
};

}  // namespace ulp::array
#pragma GCC visibility pop
