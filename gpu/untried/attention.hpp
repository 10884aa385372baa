// Attention as one fused kernel on a GPU: engine/analysis/tiled_attention.hpp says what it computes. The model there
// gives the bits that the kernel must give, so that it also tells at which lengths two sizes of tiles differ.
#pragma once

#include <vector>

#include "engine/analysis/tiled_attention.hpp"
#include "gpu/devices/executor.hpp"

namespace ulp::gpu {

/// One head of fp16 or bf16, with P in the same format, the keys in one split and no lazy rescaling.
using ulp::AttentionProblem;
inline constexpr int largest_tile_keys = 256;  // a tile is a multiple of 16
inline constexpr int largest_head = 256;

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
