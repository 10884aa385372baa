// Eigen's fp32 product, compiled once for each set of vector instructions (softfloat/vector/simd_choice.hpp).
//
// Eigen is templates: the linker would take any one of the copies for all. So each of these units has Eigen in a
// namespace of its own name, and only what is declared here crosses.
#pragma once

#include "softfloat/matrix_units/gemm_problem.hpp"

#pragma GCC visibility push(hidden)
namespace ulp {

struct EigenKernels {
    const char* name;
    /// D = A * B on one thread; A and B each have one stride of 1, D's rows have their elements beside each other.
    void (*product)(const GemmProblem& product);

    static const EigenKernels portable, avx2, avx512;  // chosen by kernels_of (softfloat/vector/dispatch.hpp)
};

}  // namespace ulp
#pragma GCC visibility pop
