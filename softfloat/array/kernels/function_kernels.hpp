// The functions on fp32 words as kernels: the results that the quick phase decides, and which those are not. No inline
// functions: see softfloat/vector/simd_choice.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softfloat/array/operation.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::array {

/// Operands at or beyond `at` have the result `down`, or `up` where their random number, in 32 bits, and `fraction` add
/// up to 2^32 or more.
struct FunctionEnd {
    double at, down, up;
    std::uint64_t fraction;
};

/// How a kernel rounds y, a double near a result, to p bits, on the words of doubles, whose sign stays as it is:
///
///     exponent . kept fraction | dropped (53 - p bits)      rounded = ((word + push) & ~dropped) | odd
///
/// It is certain of that where the words from word - margin to word + margin round to the same value; only rounding to
/// nearest has boundaries between numbers, the others have them at the numbers.
struct FunctionPlan {
    std::uint64_t dropped;        // ones instead of the dropped bits
    std::uint64_t push_positive;  // what is added before the bits are dropped: nothing, half or all of them
    std::uint64_t push_changes;   // the bits in which that differs for negative results
    std::uint64_t odd;            // the last kept bit, for rounding to odd
    std::uint64_t from_boundary;  // (word + this) & dropped is the distance from the boundary below, plus the margin
    std::uint64_t smallest;       // normal number; what lies above it, up to the largest one, is decided
    // Those magnitudes are the words for which magnitude + to_order, wrapped around, lies below end_of_order.
    std::uint64_t to_order;
    std::int64_t end_of_order;
    double to_subnormal_grid;  // 1.5 * 2^52 last places of the subnormal numbers; 0: leave those undecided
    FunctionEnd low, high;     // of the function (Ends in softfloat/functions/catalog.hpp)
    double end_of_ends;        // the largest |operand| for which these hold
    double beside;             // operands from which on results round as the double beside the operand
    // Stochastic rounding: a word for each element, its random number in the upper bits; else null. Its upper 29 bits,
    // moved to the top of the dropped ones, are added to the magnitude; what the others would add is below the margin.
    const std::uint32_t* random;
    std::uint64_t random_shift;  // dropped bits beyond 29
};

/// The relative error that the rounding test allows y, 2^-40 as in softfloat/functions/evaluate.hpp, in last places of
/// a double in [1, 2): |error| < 2^-40 * 2 = 2^13 * 2^-52. The quick phases keep 2^-43: the cut series' errors stand
/// beside their coefficients, test_phases.cpp compares all of them with an oracle, and a fused operation (multiply_add)
/// only leaves out a rounding.
inline constexpr std::uint64_t quick_margin = std::uint64_t{1} << 13;
inline constexpr double quick_error = 0x1p-40;

/// Writes function(in[i]) to out[i], for `count` fp32 words, and copies the undecided operands. Their places go to
/// `undecided` in order; returns how many they are. in and out are the same or do not overlap.
using FunctionKernel = std::size_t (*)(const FunctionPlan&, const void* in, void* out, std::size_t count,
                                       std::uint16_t* undecided);

struct FunctionKernels {
    FunctionKernel kernel[functions];

    static const FunctionKernels portable, avx2, avx512, neon;  // chosen by kernels_of (softfloat/vector/dispatch.hpp)
};

}  // namespace ulp::array
#pragma GCC visibility pop
