// The ladder over mma.sync: one dot is an element of one tile; one tile is one warp's instruction; a product is a grid
// of tiles, each a chain of instructions over ascending k. One kernel is all three.
#pragma once

#include "gpu/fragment_layout.hpp"
#include "gpu/launch.cuh"
#include "gpu/product.hpp"

namespace ulp::gpu {

/// Where a tile stands: its rows of A and D and its columns of B and D, over the whole batch.
struct TilePlace {
    std::uint64_t first_row;     // row of A's stack of matrices
    std::uint64_t first_column;  // column of B's stack of matrices
    std::uint32_t tile_column;   // of D
};
template <class Op>
__device__ TilePlace tile_place(const ProductExtents& extents, std::uint64_t tile) {
    const auto column = static_cast<std::uint32_t>(tile % extents.tiles_n);
    const std::uint64_t row = tile / extents.tiles_n;  // over the batch
    const std::uint64_t matrix = row / extents.tiles_m;
    return {row * Op::shape.m, (matrix * extents.tiles_n + column) * Op::shape.n, column};
}

/// Words in a row of D.
template <class Op>
__device__ std::uint64_t d_row_words(const ProductExtents& extents) {
    return std::uint64_t{extents.tiles_n} * Op::shape.n / layout::elements_per_word(Op::accumulator_bits);
}
/// The word of C or D that register r of a lane holds.
template <class Op>
__device__ std::uint64_t d_index(const ProductExtents& extents, const TilePlace& at, Place word) {
    constexpr int tile_words = Op::shape.n / layout::elements_per_word(Op::accumulator_bits);
    return (at.first_row + word.row) * d_row_words<Op>(extents) + std::uint64_t{at.tile_column} * tile_words +
           word.column;
}

/// One warp a tile.
template <class Op>
__global__ void warp_gemm(ProductExtents extents, ProductPointers memory) {
    using Word = typename Op::Word;
    const int lane = static_cast<int>(threadIdx.x % layout::lanes);
    const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / layout::lanes;
    const std::uint64_t first = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / layout::lanes;
    const std::uint64_t row_words = std::uint64_t{extents.steps_k} * Op::row_words;
    for (std::uint64_t tile = first; tile < extents.tiles(); tile += warps) {
        const TilePlace at = tile_place<Op>(extents, tile);
        const Word* a_rows = static_cast<const Word*>(memory.a) + at.first_row * row_words;
        const Word* b_columns = static_cast<const Word*>(memory.b) + at.first_column * row_words;
        const Word* c = static_cast<const Word*>(memory.c);
        Word d[Op::c_words];
#pragma unroll
        for (int r = 0; r < Op::c_words; ++r) {
            const Place word = layout::c_word(Op::accumulator_bits, lane, r);
            d[r] = c == nullptr ? Word{0} : c[d_index<Op>(extents, at, word)];
        }
        for (std::uint32_t step = 0; step < extents.steps_k; ++step) {
            Word a[Op::a_words];
            Word b[Op::b_words];
#pragma unroll
            for (int r = 0; r < Op::a_words; ++r) {
                const Place word = layout::a_word(Op::shape, lane, r);
                a[r] = a_rows[word.row * row_words + step * Op::row_words + word.column];
            }
#pragma unroll
            for (int r = 0; r < Op::b_words; ++r) {
                const Place word = layout::b_word(lane, r);
                b[r] = b_columns[word.row * row_words + step * Op::row_words + word.column];
            }
            Op::apply(d, a, b);
        }
#pragma unroll
        for (int r = 0; r < Op::c_words; ++r) {
            const Place word = layout::c_word(Op::accumulator_bits, lane, r);
            static_cast<Word*>(memory.d)[d_index<Op>(extents, at, word)] = d[r];
        }
    }
}

/// Four warps a block, as many blocks as there are tiles, up to a grid that fills any GPU several times over.
template <class Op>
void launch_warp_gemm(const ProductExtents& extents, const ProductPointers& memory, cudaStream_t stream) {
    constexpr unsigned warps_per_block = 4;
    warp_gemm<Op>
        <<<blocks_for(extents.tiles(), warps_per_block), warps_per_block * layout::lanes, 0, stream>>>(extents, memory);
}

}  // namespace ulp::gpu
