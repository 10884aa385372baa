// How kernels are found by their instruction.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "gpu/instructions/instruction.hpp"
#include "gpu/instructions/product.hpp"

namespace ulp::gpu {

/// Enqueues a product. Errors of the launch are left to the caller (check_launch).
using Launch = void (*)(const ProductExtents& extents, const ProductPointers& memory, cudaStream_t stream);

struct Launcher {
    Instruction instruction;
    Launch launch;
};

std::span<const Launcher> mma_sm80_launchers();
std::span<const Launcher> mma_sm89_launchers();
std::span<const Launcher> mma_sm90_launchers();
/// Empty where the compiler does not know sm_120a.
std::span<const Launcher> mma_sm120_launchers();
std::span<const Launcher> mma_integer_launchers();
std::span<const Launcher> wmma_launchers();
std::span<const Launcher> wgmma_launchers();
/// Empty where the compiler does not know sm_100a.
std::span<const Launcher> tcgen05_launchers();

/// Blocks for `items` at `per_block` each, at most 2^16: kernels loop over the rest.
constexpr unsigned blocks_for(std::uint64_t items, unsigned per_block) {
    const std::uint64_t blocks = (items + per_block - 1) / per_block;
    return static_cast<unsigned>(blocks < 65536 ? blocks : 65536);
}

// Block scales as the kernels pass them on.

/// The scales of a row of A or a column of B for one instruction, from the lowest byte up.
inline __device__ std::uint32_t scale_word(const void* scales, int count, std::uint64_t row, std::uint32_t steps,
                                           std::uint32_t step) {
    const auto* bytes = static_cast<const std::uint8_t*>(scales) + (row * steps + step) * static_cast<unsigned>(count);
    std::uint32_t word = 0;
    for (int i = 0; i < count; ++i) word |= std::uint32_t{bytes[i]} << (8 * i);
    return word;
}

}  // namespace ulp::gpu
