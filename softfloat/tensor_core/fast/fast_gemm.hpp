// The fast way to soft_gemm's bits: packed operands, vectors over columns, OpenMP over tiles.
//
// What the kernels do not follow (infinities, NaNs, sums at the ends of the range) they mark, and those elements are
// computed again by chain_dot. So the bits are those of soft_gemm_plain for all inputs.
#pragma once

#include "softfloat/tensor_core/fast/panel.hpp"
#include "softfloat/tensor_core/gemm.hpp"
#include "softfloat/tensor_core/model.hpp"

namespace ulp::fast {

/// Whether the kernels reproduce this model.
bool has_fast_path(const TensorCoreModel& model);

/// The product with these kernels. Throws std::invalid_argument unless has_fast_path(model).
void fast_gemm(const Kernels& kernels, const TensorCoreModel& model, const GemmProblem& problem);

}  // namespace ulp::fast
