// Products that round each product and each sum, in ascending k, compiled once for each set of vector instructions
// (softfloat/vector/simd_choice.hpp). Their steps are those of the plain loop, and so are the bits.
#pragma once

#include "engine/tensor/rounder.hpp"
#include "softfloat/matrix_units/gemm_problem.hpp"

#pragma GCC visibility push(hidden)
namespace ulp {

struct IeeeKernels {
    const char* name;

    /// D = A * B, or D = D + A * B where `onto_d`, in fp32 on one thread; D's rows have their elements beside each
    /// other. A sum stays in a register while k runs.
    void (*product)(const GemmProblem& product, bool onto_d);

    /// d(0, j) = d(0, j) + a(0, k) * b(k, j) for each k in turn, in a format of at most 24 bits: each product and each
    /// sum is rounded once from double. A and D are one row; the rows of B and D have their elements beside each other.
    ///
    /// A product of two fp32 has 48 bits; the sum of two numbers of at most 24 bits is either exact in double or rounds
    /// the same from it (53 >= 2 * 24 + 2).
    void (*rounded_row)(const GemmProblem& row, const Rounder<double>& round);

    static const IeeeKernels portable, avx2, avx512, neon;  // chosen by kernels_of (softfloat/vector/dispatch.hpp)
};

}  // namespace ulp
#pragma GCC visibility pop
