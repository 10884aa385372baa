// Arithmetic on fp16 by the processor's own instructions, where it has them (Simd::avx512_fp16): a second definition of
// fp16 arithmetic that shares nothing with the first, and the limit of its speed.
#pragma once

#include "softfloat/array/kernels/kernel_table.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::array {

/// fp16 -> fp16 in the rounding of the processor's control register.
extern const ArithmeticKernel native_half_kernels[operations];

}  // namespace ulp::array
#pragma GCC visibility pop
