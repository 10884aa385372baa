// From a set of instructions to its kernels, and a check that all array operations share.
#pragma once

#include "softfloat/array/context.hpp"
#include "softfloat/array/kernels/kernel_table.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp::array {

/// Throws std::invalid_argument for instructions that this processor lacks.
const KernelTable& kernels_of(Simd simd);

/// Throws std::invalid_argument if the context's random_bits make no sense.
void require_sensible(const ArrayContext& context);

}  // namespace ulp::array
