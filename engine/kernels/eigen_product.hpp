// Eigen's fp32 product, compiled once for each set of vector instructions (softfloat/vector/simd_choice.hpp).
//
// Eigen is templates: the linker would take any one of the copies for all. So each of these units has Eigen in a
// namespace of its own name, and only what is declared here crosses.
#pragma once

#include <cstddef>

#include "softfloat/matrix_units/gemm_problem.hpp"

#pragma GCC visibility push(hidden)
namespace ulp {

/// What the order of a product's sums depends on beside its shape and the vector width: Eigen's version, and the sizes
/// of the processor's caches in bytes, by which Eigen divides k.
struct EigenOrder {
    int world, major, minor;
    std::ptrdiff_t l1, l2, l3;
};

struct EigenKernels {
    const char* name;
    EigenOrder (*order)();
    /// D = A * B on one thread; A and B each have one stride of 1, D's rows have their elements beside each other.
    void (*product)(const GemmProblem& product);

    static const EigenKernels portable, avx2, avx512, neon;  // chosen by kernels_of (softfloat/vector/dispatch.hpp)
};

}  // namespace ulp
#pragma GCC visibility pop
