// How the functions' kernels are found by name. Only for sources built with CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace ulp::gpu {

/// FunctionAnswers as atomics on a GPU have them.
struct AnswersOnDevice {
    unsigned long long digest, differ, differ_nan, first;
};

struct FunctionLauncher {
    std::string_view name;
    /// Adds to *answers; writes each result to results[operand - first] unless that is null. Errors of the launch are
    /// left to the caller.
    void (*launch)(std::uint32_t first, std::uint64_t count, AnswersOnDevice* answers, std::uint32_t* results);
};

std::span<const FunctionLauncher> function_launchers_sm80();
std::span<const FunctionLauncher> function_launchers_sm90();
/// Empty where the compiler does not know sm_100a.
std::span<const FunctionLauncher> function_launchers_sm100();
std::span<const FunctionLauncher> function_launchers_sm100_only();

// The kernel of a run over the classes of fp16's fma. Only for sources built with CUDA.

/// FmaAnswers as atomics on a GPU have them.
struct FmaOnDevice {
    unsigned long long digest, differ, first;
};

/// Adds to *answers. Errors of the launch are left to the caller.
void launch_fma_classes(std::uint64_t first, std::uint64_t count, FmaOnDevice* answers);

// The attention kernel as the host launches it. Only for sources built with CUDA.

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
