// Products by the compiler's C++ interface, nvcuda::wmma: its fragments are opaque, so a tile goes through shared
// memory. One warp a block and tile. What it compiles to: two HMMA.16816 for 16x16x16, a chained pair of k4 HMMAs for
// tf32.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "gpu/instructions/fragment_layout.hpp"
#include "gpu/instructions/instruction_list.hpp"
#include "gpu/instructions/product.hpp"
#include "gpu/kernels/launch.cuh"

namespace ulp::gpu {
namespace {

namespace wmma = nvcuda::wmma;

/// An element's type in a fragment, and how it lies in memory.
template <class InFragment, class InMemory = InFragment>
struct WmmaTypes {
    using Fragment = InFragment;
    using Stored = InMemory;
};
template <Element>
struct WmmaElement;
template <>
struct WmmaElement<Element::fp64> : WmmaTypes<double> {};
template <>
struct WmmaElement<Element::fp32> : WmmaTypes<float> {};
template <>
struct WmmaElement<Element::tf32> : WmmaTypes<wmma::precision::tf32, float> {};
template <>
struct WmmaElement<Element::bf16> : WmmaTypes<__nv_bfloat16> {};
template <>
struct WmmaElement<Element::fp16> : WmmaTypes<half> {};
template <>
struct WmmaElement<Element::s32> : WmmaTypes<int> {};
template <>
struct WmmaElement<Element::s8> : WmmaTypes<signed char> {};
template <>
struct WmmaElement<Element::u8> : WmmaTypes<unsigned char> {};

/// An instruction of the interface.
template <int M, int N, int K, Element In, Element Out>
struct Wmma {
    using Fragment = typename WmmaElement<In>::Fragment;
    using Accumulator = typename WmmaElement<Out>::Fragment;
    static constexpr TileShape shape{M, N, K};
    static constexpr int m = M;
    static constexpr int n = N;
    static constexpr int k = K;
    using StoredInput = typename WmmaElement<In>::Stored;
    using StoredAccumulator = Accumulator;
    using A = wmma::fragment<wmma::matrix_a, M, N, K, Fragment, wmma::row_major>;
    using B = wmma::fragment<wmma::matrix_b, M, N, K, Fragment, wmma::col_major>;
    using D = wmma::fragment<wmma::accumulator, M, N, K, Accumulator>;
};

/// rows x columns elements between memory and shared memory, by one warp.
template <class T>
__device__ void copy_tile(T* to, std::uint64_t to_stride, const T* from, std::uint64_t from_stride, int rows,
                          int columns) {
    for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += layout::lanes) {
        to[i / columns * to_stride + i % columns] = from[i / columns * from_stride + i % columns];
    }
}

template <class Op>
__global__ void __launch_bounds__(layout::lanes) wmma_gemm(ProductExtents extents, ProductPointers memory) {
    using Input = typename Op::StoredInput;
    using Accumulator = typename Op::StoredAccumulator;
    __shared__ alignas(32) unsigned char raw_a[Op::m * Op::k * sizeof(Input)];
    __shared__ alignas(32) unsigned char raw_b[Op::n * Op::k * sizeof(Input)];
    __shared__ alignas(32) unsigned char raw_d[Op::m * Op::n * sizeof(Accumulator)];
    auto* shared_a = reinterpret_cast<Input*>(raw_a);
    auto* shared_b = reinterpret_cast<Input*>(raw_b);
    auto* shared_d = reinterpret_cast<Accumulator*>(raw_d);
    // Whole elements for words: 32-bit "words" of the index are one element each here.
    const ProductIndex index{extents, Op::shape, 32, 32};
    const std::uint64_t row = index.row_words();
    const std::uint64_t d_row = index.d_row_words();
    for (std::uint64_t tile = blockIdx.x; tile < extents.tiles(); tile += gridDim.x) {
        const auto* a = static_cast<const Input*>(memory.a);
        const auto* b = static_cast<const Input*>(memory.b);
        const std::uint64_t d_first = index.d_word(tile, {0, 0});
        typename Op::D d;
        wmma::fill_fragment(d, Accumulator{});
        __syncwarp();
        if (memory.c != nullptr) {
            copy_tile(shared_d, Op::n, static_cast<const Accumulator*>(memory.c) + d_first, d_row, Op::m, Op::n);
            __syncwarp();
            wmma::load_matrix_sync(d, shared_d, Op::n, wmma::mem_row_major);
        }
        for (std::uint32_t step = 0; step < extents.steps_k; ++step) {
            __syncwarp();
            copy_tile(shared_a, Op::k, a + index.a_word(tile, step, {0, 0}), row, Op::m, Op::k);
            copy_tile(shared_b, Op::k, b + index.b_word(tile, step, {0, 0}), row, Op::n, Op::k);
            __syncwarp();
            typename Op::A fragment_a;
            typename Op::B fragment_b;
            wmma::load_matrix_sync(fragment_a, shared_a, Op::k);
            wmma::load_matrix_sync(fragment_b, shared_b, Op::k);
            wmma::mma_sync(d, fragment_a, fragment_b, d);
        }
        wmma::store_matrix_sync(shared_d, d, Op::n, wmma::mem_row_major);
        __syncwarp();
        copy_tile(static_cast<Accumulator*>(memory.d) + d_first, d_row, shared_d, Op::n, Op::m, Op::n);
    }
}

template <class Op>
void launch(const ProductExtents& extents, const ProductPointers& memory, cudaStream_t stream) {
    wmma_gemm<Op><<<blocks_for(extents.tiles(), 1), layout::lanes, 0, stream>>>(extents, memory);
}

}  // namespace

std::span<const Launcher> wmma_launchers() {
#define ULPLAB_WMMA_LAUNCHER(AVAILABILITY, M, N, K, A, B, D, MODIFIER) \
    {ULPLAB_INSTRUCTION(wmma, AVAILABILITY, M, N, K, A, B, D, MODIFIER), launch<Wmma<M, N, K, Element::A, Element::D>>},
    static constexpr Launcher table[] = {ULPLAB_WMMA(ULPLAB_WMMA_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
