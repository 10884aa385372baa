// Products by wgmma: a warpgroup a tile of 64 x 8. Compiled for sm_90a only.
#include "gpu/instructions/product.hpp"
#include "gpu/instructions/wgmma.cuh"
#include "gpu/kernels/launch.cuh"

namespace ulp::gpu {
namespace {

/// 32 bytes of k of `rows` rows, from memory into core matrices.
__device__ void stage(std::uint32_t* shared, const std::uint32_t* first_row, std::uint64_t row_stride, int rows) {
    for (int i = static_cast<int>(threadIdx.x); i < rows * 8; i += layout::warpgroup) {
        const int row = i / 8;
        const int k_word = i % 8;
        shared[layout::core_matrix_word(rows, row, k_word)] = first_row[row * row_stride + k_word];
    }
}

template <class Op>
__global__ void __launch_bounds__(layout::warpgroup) warpgroup_gemm(ProductExtents extents, ProductPointers memory) {
    constexpr int m = Op::shape.m;
    constexpr int n = Op::shape.n;
    __shared__ alignas(128) std::uint32_t shared_a[m * 8];
    __shared__ alignas(128) std::uint32_t shared_b[n * 8];
    const int thread = static_cast<int>(threadIdx.x);
    const ProductIndex index{extents, Op::shape, Op::input_bits, Op::accumulator_bits};
    const auto* a = static_cast<const std::uint32_t*>(memory.a);
    const auto* b = static_cast<const std::uint32_t*>(memory.b);
    const auto* c = static_cast<const std::uint32_t*>(memory.c);
    for (std::uint64_t tile = blockIdx.x; tile < extents.tiles(); tile += gridDim.x) {
        const auto d_index = [&](int r) {
            return index.d_word(tile, layout::wgmma_d_word(Op::accumulator_bits, thread, r));
        };
        std::uint32_t d[Op::d_words];
#pragma unroll
        for (int r = 0; r < Op::d_words; ++r) d[r] = c == nullptr ? 0 : c[d_index(r)];
        for (std::uint32_t step = 0; step < extents.steps_k; ++step) {
            __syncthreads();  // the previous step's operands are no longer read
            stage(shared_a, a + index.a_word(tile, step, {0, 0}), index.row_words(), m);
            stage(shared_b, b + index.b_word(tile, step, {0, 0}), index.row_words(), n);
            fence_shared_for_wgmma();
            __syncthreads();
            Op::apply(d, operand_descriptor(shared_a, m), operand_descriptor(shared_b, n), step > 0 || c != nullptr);
        }
#pragma unroll
        for (int r = 0; r < Op::d_words; ++r) static_cast<std::uint32_t*>(memory.d)[d_index(r)] = d[r];
    }
}

template <class Op>
void launch(const ProductExtents& extents, const ProductPointers& memory, cudaStream_t stream) {
    warpgroup_gemm<Op><<<blocks_for(extents.tiles(), 1), layout::warpgroup, 0, stream>>>(extents, memory);
}

}  // namespace

std::span<const Launcher> wgmma_launchers() {
#define ULPLAB_WGMMA_LAUNCHER(AVAILABILITY, M, N, K, A, B, D, MODIFIER)   \
    {ULPLAB_INSTRUCTION(wgmma, AVAILABILITY, M, N, K, A, B, D, MODIFIER), \
     launch<Wgmma<M, N, K, Element::A, Element::B, Element::D>>},
    static constexpr Launcher table[] = {ULPLAB_WGMMA(ULPLAB_WGMMA_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
