// Products with fp64 numbers by vector instructions.
#pragma once

#include "softfloat/matrix_units/gemm_kernels/panel.hpp"
#include "softfloat/matrix_units/gemm_problem.hpp"
#include "softfloat/matrix_units/model.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// Whether the model is a chain of fused multiply-adds, the operation that IEEE 754 defines.
bool has_fp64_kernel(const TensorCoreModel& model);

/// As gemm_plain, bit for bit. For models with a kernel.
void fast_fp64_gemm(const Kernels& kernels, const TensorCoreModel& model, const Fp64Problem& problem);

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
