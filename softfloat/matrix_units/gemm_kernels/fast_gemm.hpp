// The fast way to gemm's bits: packed operands, vectors over columns, OpenMP over tiles.
//
// What the kernels do not follow (infinities, NaNs, sums at the ends of the range) they mark, and those elements are
// computed again by chain_dot. So the bits are those of gemm_plain for all inputs.
#pragma once

#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/panel.hpp"
#include "softfloat/matrix_units/model.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// What a thread's packed operands take at most where memory is as usual: little beside the matrices, and in the cache.
inline constexpr std::int64_t usual_packed_bytes = 1 << 20;

/// The product with these kernels, packed in pieces of packed_bytes for each thread (of at least two). Throws
/// std::invalid_argument where choose_kernel(model) finds none, or these kernels cannot flush and the model does.
void fast_gemm(const Kernels& kernels, const TensorCoreModel& model, const GemmProblem& problem,
               std::int64_t packed_bytes = usual_packed_bytes);

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
