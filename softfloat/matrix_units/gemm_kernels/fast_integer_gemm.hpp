// The fast way to the results of integer products: vectors over columns, two k a step.
#pragma once

#include "softfloat/matrix_units/gemm_kernels/panel.hpp"
#include "softfloat/matrix_units/integer_model.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// Whether the kernels compute this model: all but 1-bit exclusive or with saturation, and instructions of odd k.
bool has_integer_kernel(const IntegerModel& model);

/// The product of operands that lie in their range, by a model that has_integer_kernel.
void fast_integer_gemm(const Kernels& kernels, const IntegerModel& model, const IntegerProblem& problem);

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
