// The attention kernel as the host launches it. Only for sources built with CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ulp::gpu {

struct AttentionExtents {
    std::int64_t queries, keys;
    int head, tile_keys;
    float scale;
    bool causal;
};

/// Bytes of shared memory of a block: scores and weights of 16 queries by a tile, sums of 16 queries by a head.
std::size_t attention_shared_bytes(const AttentionExtents& extents);
/// Q, K, V: codes by rows, aligned to 4 bytes; out: queries x head. Errors of the launch are left to the caller.
void launch_attention_fp16(const AttentionExtents& extents, const std::uint16_t* q, const std::uint16_t* k,
                           const std::uint16_t* v, float* out);
void launch_attention_bf16(const AttentionExtents& extents, const std::uint16_t* q, const std::uint16_t* k,
                           const std::uint16_t* v, float* out);

}  // namespace ulp::gpu
