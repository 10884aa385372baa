// Products as libraries make them of an instruction: split over k, partial sums promoted, alpha and beta at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp {

/// D = alpha * (A * B) + beta * C in fp32, after a sum that starts at zero; then rounded to the accumulator's format.
/// Beside an fp64 accumulator all of it is fp64.
///
///     beta = 0     D = alpha * sum; C is not read (reference BLAS, SGEMM: "C need not be set on entry"; cuBLAS guide:
///                  C "does not have to be a valid input"; CUTLASS, linear_combination.h: multiplies alone)
///     alpha = 0    D = beta * C; A and B are not read (reference BLAS, SGEMM: returns before its loops)
///     otherwise    D = fma(alpha, sum, beta * C), each operation to nearest even (CUTLASS, linear_combination.h)
///
/// So NaNs and infinities in an operand that is not read are not seen, and alpha = 1, beta = 0 gives the sum, its sign
/// of zero included. Runs on hardware (cuBLAS on an H100 and an H200) had alpha = 1 and beta = 0 only: everything else
/// here is by these sources. They disagree on alpha = 0, where CUTLASS multiplies the sum by it.
struct LinearEpilogue {
    double alpha = 1;  // of fp32 epilogues rounded to fp32
    double beta = 0;

    bool operator==(const LinearEpilogue&) const = default;
};

/// In which order the sums of pieces are added.
enum class SumOrder : std::uint8_t {
    ascending,
    descending,
    pairwise  // neighbours, then pairs of neighbours, ...: the first 2^n pieces apart from the rest
};

/// In which order a kernel adds the products. Promotion must come after whole instructions.
struct ProductOrder {
    int split_k = 1;  // pieces of k, as equal as whole instructions allow, each summed from zero (the first from C);
                      // their sums are added in fp32 to nearest even
    std::int64_t piece_k = 0;  // > 0: pieces of that many k, the last one the rest, in place of split_k equal ones
    std::int64_t slice_k =
        0;  // > 0: the pieces take turns, that many k each (sliced k: warps that share the k of a tile)
    std::int64_t tile_k = 0;  // > 0: a piece begins with its remainder modulo tile_k, filled up with zeros to whole
                              // instructions (CUTLASS's kernels for Ampere)
    std::optional<FloatFormat> sum_format{};  // the pieces' sums are rounded to it, and so is their total at each step;
                                              // in fp32 without it
    std::int64_t promote_every = 0;  // > 0: after that many k the running sum goes into an fp32 accumulator by an
                                     // addition to nearest even and starts again at zero (FP8 GEMMs: 128)
    std::optional<LinearEpilogue> epilogue{};  // without one, C is what the first instruction accumulates to
    // cuBLAS's reductions of pieces (cublasLt.h): COMPUTE_TYPE has neither format, OUTPUT_TYPE D's format for the sums
    // and fp32 for their total, INPLACE D's format for the total alone.
    std::optional<FloatFormat> total_format{};  // of the pieces' total; without it that of their sums
    SumOrder reduction = SumOrder::ascending;

    bool operator==(const ProductOrder&) const = default;
};

/// "ascending", "descending", "pairwise". The reduction of that name: throws std::invalid_argument that lists them.
std::string_view name_of(SumOrder reduction);
SumOrder sum_order_by_name(std::string_view name);

/// "ascending k", "split-k 2", "sliced k: 2 x 32", "split-k 4, partial sums in bf16", "ascending k, promoted every
/// 128".
std::string name_of(const ProductOrder& order);

/// The orders in which a library's kernel may add the products of one element, as the study of cuBLAS tries them; the
/// simplest first.
const std::vector<ProductOrder>& candidate_orders();

/// Pieces of k of one length each, as split-k kernels round them, with the rest of each piece's tiles first or not.
std::vector<ProductOrder> split_orders(std::int64_t k, const std::optional<FloatFormat>& sum_format);

/// Throws std::invalid_argument if the order does not fit the model (its accumulator, its instruction's k).
void require_fitting(const TensorCoreModel& model, const ProductOrder& order);

/// Throws as require_fitting does.
void soft_product(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& problem);

/// Scales of blocks along k of A's rows and B's columns: m x (k / block) and (k / block) x n numbers of fp32; without
/// an array all of them are 1. A block of several rows or columns gives its scale to each.
struct BlockScales {
    MatrixView a{}, b{};
    [[nodiscard]] bool any() const { return a.data != nullptr || b.data != nullptr; }
};
/// k that share a scale where nothing else is said, and that DeepGEMM and CUTLASS promote at.
inline constexpr std::int64_t usual_scale_block = 128;

/// Elements of A and B that scales belong to, block = promote_every: each promoted sum is multiplied by the product of
/// its block's two scales and then added, three operations of fp32 to nearest even (DeepGEMM, fp8_gemm; CUTLASS, scaled
/// accumulation), to a total that starts at C. Throws as require_fitting does, and for scales without promotion, in
/// several pieces of k, and of other shapes.
void soft_product(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& problem,
                  const BlockScales& scales);
/// Throws std::invalid_argument unless the scales fit m x n elements of sums of k.
void require_scales(const BlockScales& scales, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t block);

/// With scales of the unit's own, and, of NVFP4's two levels, the product of both operands' fp32 scales as alpha.
/// Throws std::invalid_argument for an order with more than an epilogue, and as gemm does.
void soft_product(const BlockScaledModel& model, const ProductOrder& order, const BlockScaledProblem& problem);

/// The same for models with fp64 operands and accumulators. Pieces are added in fp64, and sums are not promoted.
void fp64_product(const TensorCoreModel& model, const ProductOrder& order, const Fp64Problem& problem);

}  // namespace ulp
