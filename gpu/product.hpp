// A batch of matrix products in memory, as the kernels see it: raw words, every extent a multiple of the instruction's.
#pragma once

#include <cstdint>

namespace ulp::gpu {

/// D[b] = A[b] * B[b] + C[b] for b < batch. Elements are packed without gaps, k (in C and D: the column) fastest:
///
///     A[batch][tiles_m * m][steps_k * k]     by rows
///     B[batch][tiles_n * n][steps_k * k]     by columns
///     C, D[batch][tiles_m * m][tiles_n * n]  by rows
///
/// Each element of D is a chain over ascending k: the first instruction takes C (zero, or wgmma's scale-d = 0, where
/// `c` is null), each later one the result before it.
struct ProductExtents {
    std::uint32_t tiles_m = 1;
    std::uint32_t tiles_n = 1;
    std::uint32_t steps_k = 1;
    std::uint32_t batch = 1;
    [[nodiscard]] constexpr std::uint64_t tiles() const { return std::uint64_t{tiles_m} * tiles_n * batch; }
};

/// Pointers into device memory, each aligned to 32 bytes.
struct ProductPointers {
    const void* a;
    const void* b;
    const void* c;  // may be null
    void* d;
};

}  // namespace ulp::gpu
