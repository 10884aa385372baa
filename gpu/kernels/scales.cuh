// Block scales as the kernels pass them on.
#pragma once

#include <cstdint>

namespace ulp::gpu {

/// The scales of a row of A or a column of B for one instruction, from the lowest byte up.
inline __device__ std::uint32_t scale_word(const void* scales, int count, std::uint64_t row, std::uint32_t steps,
                                           std::uint32_t step) {
    const auto* bytes = static_cast<const std::uint8_t*>(scales) + (row * steps + step) * static_cast<unsigned>(count);
    std::uint32_t word = 0;
    for (int i = 0; i < count; ++i) word |= std::uint32_t{bytes[i]} << (8 * i);
    return word;
}

}  // namespace ulp::gpu
