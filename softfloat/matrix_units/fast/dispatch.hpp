// The kernels for a set of vector instructions.
#pragma once

#include "softfloat/matrix_units/fast/panel.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp::fast {

/// The widest kernels that need no more than these instructions.
const Kernels& kernels_of(Simd simd);

}  // namespace ulp::fast
