// Attention as one fused kernel: O = softmax(scale * Q * K^T) * V for one head, over tiles of keys. A model on the CPU
// gives the bits that the kernel must give, so that it also tells at which lengths two sizes of tiles differ.
//
// For each tile of keys, in ascending order:
//
//     S  = Q * K_tile^T            chains of instructions over the head's width, from zero
//     x  = scale * S               fp32; -infinity where a key is masked
//     P  = exp(x - largest so far) fp32, its sum in ascending order (online_softmax.hpp)
//     O  = O * factor, then + P * V_tile: P rounded to the operands' format, chains of instructions over the tile's
//     keys
//
// and at the end O is divided by the sum. The last tile has the keys that are left, filled up with zeros to whole
// instructions. No tile is left out, not even one that is masked as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/devices/executor.hpp"
#include "softfloat/matrix_units/model.hpp"
#include "softfloat/matrix_view.hpp"

namespace ulp::gpu {

/// One head. The numbers lie on the grid of the operands' format, fp16 or bf16.
struct AttentionProblem {
    MatrixView q;          // queries x head
    MatrixView k;          // keys x head
    MatrixView v;          // keys x head
    float scale = 1;       // of the scores
    int tile_keys = 64;    // a multiple of 16, at most largest_tile_keys
    bool causal = false;   // key j is masked for query i < j
    FloatFormat format{};  // of Q, K, V and P: fp16 or bf16

    static constexpr int largest_tile_keys = 256;
    static constexpr int largest_head = 256;
};

/// Throws UsageError, naming the limit, where the shapes do not fit each other or the kernel: a head is a multiple
/// of 16.
void require_attention(const AttentionProblem& problem);

/// O, queries x head by rows, in fp32, with products of `model`, whose instruction takes 16 k. Throws as
/// require_attention does. Uses OpenMP's threads; the bits do not depend on their number.
std::vector<float> attend(const TensorCoreModel& model, const AttentionProblem& problem);
/// The same with each product by its definition, element by element.
std::vector<float> attend_plain(const TensorCoreModel& model, const AttentionProblem& problem);

/// The instruction behind the kernel, and the row that it is compared with on the device's architecture. Throws
/// UsageError where the device lacks it.
const Instruction& attention_instruction(const Executor& device, const FloatFormat& format);
TensorCoreModel attention_model(const Executor& device, const FloatFormat& format);

/// O as the device computes it: by the kernel on a GPU, by attend_plain() where software stands in for one. Throws
/// DataError where the device fails.
std::vector<float> attend_on(const Executor& device, const AttentionProblem& problem);
/// The kernel on the first CUDA device. Throws DataError where the build has no CUDA, or the device fails.
std::vector<float> attend_on_cuda(const AttentionProblem& problem);

}  // namespace ulp::gpu
