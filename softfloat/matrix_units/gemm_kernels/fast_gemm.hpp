// The fast ways to the bits of products: packed operands, vectors over columns, OpenMP over tiles.
//
// What the kernels do not follow (infinities, NaNs, sums at the ends of the range) they mark, and those elements are
// computed again by the definition. So the bits are those of gemm_plain for all inputs.
//
// Each function chooses its kernel, or returns false, having done nothing: where no kernel computes the model or such a
// product, or these kernels cannot flush and the model does. choose_path (gemm_path.hpp) says the same in words.
#pragma once

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/panel.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/model.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// What a thread's packed operands take at most where memory is as usual: little beside the matrices, and in the cache.
inline constexpr std::int64_t usual_packed_bytes = 1 << 20;

/// The product with these kernels, packed in pieces of packed_bytes for each thread (of at least two).
bool fast_gemm(const Kernels& kernels, const TensorCoreModel& model, const GemmProblem& problem,
               std::int64_t packed_bytes = usual_packed_bytes);

/// Whether the model is a chain of fp64 fused multiply-adds, the operation that IEEE 754 defines; its products.
bool has_fp64_kernel(const TensorCoreModel& model);
bool fast_fp64_gemm(const Kernels& kernels, const TensorCoreModel& model, const Fp64Problem& problem);

/// Whether the kernels compute this model, two k a step: all but 1-bit exclusive or with saturation, and instructions
/// of odd k. The product is that of operands that lie in their range.
bool has_integer_kernel(const IntegerModel& model);
bool fast_integer_gemm(const Kernels& kernels, const IntegerModel& model, const IntegerProblem& problem);

/// Elements that share E8M0 scales as fused groups, FP4 elements as sums of 16 integers, or the definition.
enum class ScaledKernel { none, fused, fp4 };
ScaledKernel choose_scaled_kernel(const BlockScaledModel& model);
bool fast_scaled_gemm(const Kernels& kernels, const BlockScaledModel& model, const BlockScaledProblem& problem);

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
