// The array kernels of one set of vector instructions, as functions. No inline functions: see
// softfloat/simd_choice.hpp.
#pragma once

#include <cstddef>

#include "softfloat/array/plan.hpp"

namespace ulp::array {

/// What the rounding of magnitudes needs.
enum Shape : int {
    wide,              // the exponents of fp32
    narrow,            // fewer, so that subnormals need a growing cut
    no_negative_zero,  // narrow, and a zero has no sign
    shapes
};

/// `count` elements from `in` to `out`, which may be the same.
using RoundKernel = void (*)(const RoundingPlan&, const void* in, void* out, std::size_t count);

/// Indexed by ulp::Rounding; up and down share a kernel.
inline constexpr int roundings = 7;

struct KernelTable {
    RoundKernel round[roundings][shapes];     // fp32 -> fp32 on the format's grid
    RoundKernel encode16[roundings][shapes];  // fp32 -> 16-bit words (not no_negative_zero: null)
    RoundKernel encode8[roundings][shapes];   // fp32 -> 8-bit words (not wide: null)
};

extern const KernelTable portable_kernels;
extern const KernelTable avx2_kernels;
extern const KernelTable avx512_kernels;

}  // namespace ulp::array
