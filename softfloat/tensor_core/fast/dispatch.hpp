// The kernels for a set of vector instructions.
#pragma once

#include "softfloat/simd_choice.hpp"
#include "softfloat/tensor_core/fast/panel.hpp"

namespace ulp::fast {

/// The widest kernels that need no more than these instructions.
const Kernels& kernels_of(Simd simd);

}  // namespace ulp::fast
