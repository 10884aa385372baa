// The ladder over mma.sync: one dot is an element of one tile; one tile is one warp's instruction; a product is a grid
// of tiles, each a chain of instructions over ascending k. One kernel is all three.
#pragma once

#include "gpu/instructions/fragment_layout.hpp"
#include "gpu/instructions/mma.cuh"
#include "gpu/instructions/product.hpp"
#include "gpu/kernels/launch.cuh"

namespace ulp::gpu {

/// One warp a tile.
template <class Op>
__global__ void warp_gemm(ProductExtents extents, ProductPointers memory) {
    using Word = typename Op::Word;
    const int lane = static_cast<int>(threadIdx.x % layout::lanes);
    const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / layout::lanes;
    const std::uint64_t first = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / layout::lanes;
    const ProductIndex index{extents, Op::shape, Op::input_bits, Op::accumulator_bits};
    const Word* c = static_cast<const Word*>(memory.c);
    for (std::uint64_t tile = first; tile < extents.tiles(); tile += warps) {
        Word d[Op::c_words];
#pragma unroll
        for (int r = 0; r < Op::c_words; ++r) {
            const Place word = layout::c_word(Op::accumulator_bits, lane, r);
            d[r] = c == nullptr ? Word{0} : c[index.d_word(tile, word)];
        }
        for (std::uint32_t step = 0; step < extents.steps_k; ++step) {
            Word a[Op::a_words];
            Word b[Op::b_words];
#pragma unroll
            for (int r = 0; r < Op::a_words; ++r) {
                const Place word = layout::a_word(Op::shape, lane, r);
                a[r] = static_cast<const Word*>(memory.a)[index.a_word(tile, step, word)];
            }
#pragma unroll
            for (int r = 0; r < Op::b_words; ++r) {
                b[r] = static_cast<const Word*>(memory.b)[index.b_word(tile, step, layout::b_word(lane, r))];
            }
            if constexpr (Op::scales > 0) {
                const auto a_row = index.a_row(tile) + static_cast<unsigned>(layout::a_scale_row(lane));
                const auto b_row = index.b_row(tile) + static_cast<unsigned>(layout::b_scale_column(lane));
                Op::apply(d, a, b, scale_word(memory.a_scales, Op::scales, a_row, extents.steps_k, step),
                          scale_word(memory.b_scales, Op::scales, b_row, extents.steps_k, step));
            } else {
                Op::apply(d, a, b);
            }
        }
#pragma unroll
        for (int r = 0; r < Op::c_words; ++r) {
            const Place word = layout::c_word(Op::accumulator_bits, lane, r);
            static_cast<Word*>(memory.d)[index.d_word(tile, word)] = d[r];
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

/// A row of a list of instructions (instruction_list.hpp) as one of a table of launchers.
#define ULPLAB_MMA_LAUNCHER(AVAILABILITY, ...) \
    {ULPLAB_INSTRUCTION(mma, AVAILABILITY, __VA_ARGS__), launch_warp_gemm<ULPLAB_MMA_TYPE(__VA_ARGS__)>},

}  // namespace ulp::gpu
