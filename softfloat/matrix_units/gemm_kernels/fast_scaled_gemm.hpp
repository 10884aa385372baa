// The fast way to the bits of block-scaled products: vectors over columns; what the kernels do not follow they mark,
// and those elements are computed again by the definition.
#pragma once

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm_kernels/panel.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// Elements that share E8M0 scales as fused groups, FP4 elements as sums of 16 integers, or the definition.
enum class ScaledKernel { none, fused, fp4 };
ScaledKernel choose_scaled_kernel(const BlockScaledModel& model);

/// The product of a problem with k > 0. Throws std::invalid_argument where choose_scaled_kernel finds none.
void fast_scaled_gemm(const Kernels& kernels, const BlockScaledModel& model, const BlockScaledProblem& problem);

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
