// Attention as fused kernels compute it: O = softmax(scale * Q * K^T) * V for one head, over tiles of keys, forward and
// backward. The model of the GPU's kernel (gpu/untried) is the same function.
//
// For each tile of keys, in ascending order:
//
//     S  = Q * K_tile^T            chains of instructions over the head's width, from zero
//     x  = scale * S               fp32; -infinity where a key is masked
//     P  = exp(x - largest so far) fp32, its sum in ascending order (softfloat/functions/online_softmax.hpp)
//     O  = O * factor, then + P * V_tile: P, which is not normalised, rounded to a format, chains of instructions over
//     the tile's keys
//
// and at the end O is divided by the sum. The last tile has the keys that are left, filled up with zeros to whole
// instructions. No tile is left out, not even one that is masked as a whole.
//
// With several splits (FlashDecoding, 2023) each takes as many tiles, the last one the rest, and ends with its own O
// and L = largest + log(sum); then, in ascending order, O = fma(exp(L_split - L), O_split, O) with L the logarithm of
// the sum of exp(L_split - largest L), plus the largest.
//
// Kernels use approximate exponentials to the base 2; here exp and log are correctly rounded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/model.hpp"
#include "softfloat/matrix_view.hpp"

namespace ulp {

/// One head. The numbers lie on the grid of the operands' format.
struct AttentionProblem {
    MatrixView q;     // queries x head
    MatrixView k;     // keys x head
    MatrixView v;     // keys x width of the values
    float scale = 1;  // of the scores
    int tile_keys = 64;
    bool causal = false;                   // key j is masked for query i < j
    FloatFormat format{};                  // of Q, K, V and the gradients of O and S that are operands
    std::optional<FloatFormat> weights{};  // of P; nothing: as the operands'. Its numbers are the operands' format's
    int splits = 1;                        // of the keys
    float rescale_threshold = 0;           // next_tile()
};

/// How products are computed: gemm, or gemm_plain.
using AttentionProduct = void (*)(const TensorCoreModel& model, const GemmProblem& problem);

struct AttentionResult {
    std::vector<float> out;         // O, queries x width, in fp32
    std::vector<float> logarithms;  // L of each query: the logarithm of the sum of exp(x)
    std::int64_t rescaled = 0;      // rows and tiles whose factor is not 1, a split's first tile aside
};

/// With products of `model`, whose accumulator is fp32. Uses OpenMP's threads; the bits do not depend on their number.
/// Throws UsageError: shapes that do not fit each other, a tile or a number of splits that is not there, formats that
/// the model does not take.
AttentionResult tiled_attention(const TensorCoreModel& model, const AttentionProblem& problem,
                                AttentionProduct product = gemm);

/// dQ, dK and dV from dO (queries x width, on the operands' grid), as FlashAttention-2 computes them: for blocks of 64
/// queries in ascending order, and for each tile of keys,
///
///     P  = exp(x - L)                         fp32, from scores that are computed again
///     dV = dV + round(P)^T * dO               chains that continue
///     dS = P * (dO * V^T - D)                 fp32; D = the sum of dO * round(O) over the row, in ascending order
///     dQ = dQ + round(dS) * K_tile, in ascending tiles;   dK = dK + round(dS)^T * Q
///
/// and at the end dQ and dK are multiplied by the scale. (Kernels that add dQ by atomics have no fixed order.)
struct AttentionGradients {
    std::vector<float> q, k, v;
};
AttentionGradients attention_gradients(const TensorCoreModel& model, const AttentionProblem& problem,
                                       const AttentionResult& result, MatrixView d_out,
                                       AttentionProduct product = gemm);

/// What one query met in one tile.
struct AttentionTile {
    int split;
    std::int64_t first_key, keys, masked;
    std::int64_t largest_key = -1;  // the key of the tile's largest score
    float largest_score = 0;        // not where all keys are masked
    float reference = 0;            // what exponents refer to after the tile
    float factor = 1;               // of what was summed before
    float sum = 0;                  // of weights, after the tile
    std::int64_t lost = 0;          // weights that P's format rounds to 0, masked keys aside
    double share = 0;               // of the final sum of weights
};
std::vector<AttentionTile> tiles_of_query(const TensorCoreModel& model, const AttentionProblem& problem,
                                          std::int64_t query);

}  // namespace ulp
