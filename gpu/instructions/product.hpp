// A batch of matrix products in memory, as the kernels see it: raw words, every extent a multiple of the instruction's.
#pragma once

#include <cstdint>

#include "gpu/instructions/fragment_layout.hpp"

namespace ulp::gpu {

/// D[b] = A[b] * B[b] + C[b] for b < batch. Elements are packed without gaps, k (in C and D: the column) fastest:
///
///     A[batch][tiles_m * m][steps_k * k]     by rows
///     B[batch][tiles_n * n][steps_k * k]     by columns
///     C, D[batch][tiles_m * m][tiles_n * n]  by rows
///     scales[rows of A or columns of B][steps_k * scales of an instruction]  a byte each, where it has any
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

/// Where the words of a tile lie. A word has a register's size; a place is (row, word of the row) inside the tile.
struct ProductIndex {
    ProductExtents extents;
    TileShape shape;
    int input_bits;
    int accumulator_bits;

    /// Words of one instruction's k, and of a whole row of A or column of B.
    [[nodiscard]] constexpr std::uint64_t step_words() const {
        return static_cast<std::uint64_t>(shape.k / layout::elements_per_word(input_bits));
    }
    [[nodiscard]] constexpr std::uint64_t row_words() const { return extents.steps_k * step_words(); }
    /// Words of a tile's row of D, and of a whole row of D.
    [[nodiscard]] constexpr std::uint64_t tile_words() const {
        return static_cast<std::uint64_t>(shape.n / layout::elements_per_word(accumulator_bits));
    }
    [[nodiscard]] constexpr std::uint64_t d_row_words() const { return extents.tiles_n * tile_words(); }
    /// The tile's first row in the stack of all A (and of all D), and its first column in the stack of all B.
    [[nodiscard]] constexpr std::uint64_t a_row(std::uint64_t tile) const {
        return tile / extents.tiles_n * static_cast<std::uint64_t>(shape.m);
    }
    [[nodiscard]] constexpr std::uint64_t b_row(std::uint64_t tile) const {
        const std::uint64_t matrix = tile / extents.tiles_n / extents.tiles_m;
        return (matrix * extents.tiles_n + tile % extents.tiles_n) * static_cast<std::uint64_t>(shape.n);
    }
    [[nodiscard]] constexpr std::uint64_t a_word(std::uint64_t tile, std::uint32_t step, Place word) const {
        return (a_row(tile) + static_cast<std::uint64_t>(word.row)) * row_words() + step * step_words() +
               static_cast<std::uint64_t>(word.column);
    }
    [[nodiscard]] constexpr std::uint64_t b_word(std::uint64_t tile, std::uint32_t step, Place word) const {
        return (b_row(tile) + static_cast<std::uint64_t>(word.row)) * row_words() + step * step_words() +
               static_cast<std::uint64_t>(word.column);
    }
    [[nodiscard]] constexpr std::uint64_t d_word(std::uint64_t tile, Place word) const {
        return (a_row(tile) + static_cast<std::uint64_t>(word.row)) * d_row_words() +
               tile % extents.tiles_n * tile_words() + static_cast<std::uint64_t>(word.column);
    }
};

/// Pointers into device memory, each aligned to 32 bytes.
struct ProductPointers {
    const void* a;
    const void* b;
    const void* c;  // may be null
    void* d;
    const void* a_scales = nullptr;
    const void* b_scales = nullptr;
};

}  // namespace ulp::gpu
