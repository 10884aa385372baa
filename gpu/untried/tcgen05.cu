// Products by tcgen05.mma: a block a tile of 128 x 16, one kernel for each kind. Compiled for sm_100a only.
#include "gpu/instructions/instruction_list.hpp"
#include "gpu/instructions/product.hpp"
#include "gpu/kernels/launch.cuh"
#include "gpu/kernels/scales.cuh"
#include "gpu/untried/tcgen05.cuh"

namespace ulp::gpu {
namespace {

constexpr int threads = 128;
constexpr int m = 128;
constexpr int n = 16;
constexpr int step_words = 8;  // 32 bytes of k

/// What the instructions of one kind differ in.
struct TensorProduct {
    TileShape shape;
    Element a, b, accumulator;
    int scales;
    std::uint32_t descriptor;
};

/// 32 bytes of k of `rows` rows, from memory into core matrices.
__device__ void stage(std::uint32_t* shared, Element element, const std::uint32_t* first_row, std::uint64_t row_stride,
                      int rows) {
    for (int i = static_cast<int>(threadIdx.x); i < rows * 2; i += threads) {
        const int row = i / 2;
        const std::uint32_t* from = first_row + row * row_stride + i % 2 * 4;
        const std::uint32_t memory[4] = {from[0], from[1], from[2], from[3]};
        std::uint32_t* to = shared + layout::core_matrix_word(rows, row, i % 2 * 4);
        for (int w = 0; w < 4; ++w) to[w] = shared_word(element, memory, w);
    }
}

/// The scales of the operand's `rows` rows into this warp's lanes.
__device__ void stage_scales(std::uint32_t address, const void* scales, const TensorProduct& product,
                             std::uint64_t first_row, int rows, std::uint32_t steps, std::uint32_t step) {
    std::uint32_t words[tensor_memory::scale_columns];
    for (int column = 0; column < tensor_memory::scale_columns; ++column) {
        const int row = tensor_memory::scale_row(static_cast<int>(threadIdx.x), column);
        words[column] =
            row < rows ? scale_word(scales, product.scales, first_row + static_cast<unsigned>(row), steps, step) : 0;
    }
    tcgen05::store(address, words);
}

/// The thread's row of C or D between memory and one column of tensor memory each: fp16 has two in a word of memory.
__device__ void unpack(const std::uint32_t* row, bool halves, std::uint32_t (&d)[n]) {
#pragma unroll
    for (int j = 0; j < n; ++j) d[j] = halves ? row[j / 2] >> (j % 2 * 16) & 0xFFFF : row[j];
}
__device__ void pack(std::uint32_t* row, bool halves, const std::uint32_t (&d)[n]) {
#pragma unroll
    for (int j = 0; j < n; ++j) {
        if (!halves) {
            row[j] = d[j];
        } else if (j % 2 == 0) {
            row[j / 2] = (d[j] & 0xFFFF) | d[j + 1] << 16;
        }
    }
}

template <TensorKind Kind>
__global__ void __launch_bounds__(threads)
    tensor_gemm(ProductExtents extents, ProductPointers memory, TensorProduct product) {
    __shared__ alignas(128) std::uint32_t shared_a[m * step_words];
    __shared__ alignas(128) std::uint32_t shared_b[n * step_words];
    __shared__ alignas(8) std::uint64_t done;
    __shared__ std::uint32_t allocated;
    const int thread = static_cast<int>(threadIdx.x);
    const int first_lane = thread / 32 * 32;  // of the warp
    if (thread < 32) tcgen05::allocate(&allocated);
    if (thread == 0) tcgen05::make_barrier(&done);
    tcgen05::fence_before_barrier();
    __syncthreads();
    tcgen05::fence_after_barrier();
    const std::uint32_t base = allocated;
    const std::uint32_t d_address = tensor_memory::address(base, first_lane, tensor_memory::d_column);
    const bool halves = product.accumulator == Element::fp16;
    const ProductIndex index{extents, product.shape, bits_of(product.a), bits_of(product.accumulator)};
    const auto* a = static_cast<const std::uint32_t*>(memory.a);
    const auto* b = static_cast<const std::uint32_t*>(memory.b);
    const auto* c = static_cast<const std::uint32_t*>(memory.c);
    std::uint32_t phase = 0;
    for (std::uint64_t tile = blockIdx.x; tile < extents.tiles(); tile += gridDim.x) {
        const std::uint64_t d_row = index.d_word(tile, {thread, 0});
        std::uint32_t d[n];
        if (c != nullptr) {
            unpack(c + d_row, halves, d);
            tcgen05::store(d_address, d);
        }
        for (std::uint32_t step = 0; step < extents.steps_k; ++step) {
            stage(shared_a, product.a, a + index.a_word(tile, step, {0, 0}), index.row_words(), m);
            stage(shared_b, product.b, b + index.b_word(tile, step, {0, 0}), index.row_words(), n);
            if constexpr (Kind >= TensorKind::mxf8f6f4) {
                stage_scales(tensor_memory::address(base, first_lane, tensor_memory::a_scales_column), memory.a_scales,
                             product, index.a_row(tile), m, extents.steps_k, step);
                stage_scales(tensor_memory::address(base, first_lane, tensor_memory::b_scales_column), memory.b_scales,
                             product, index.b_row(tile), n, extents.steps_k, step);
            }
            tcgen05::fence_shared();
            tcgen05::fence_before_barrier();
            __syncthreads();
            if (thread == 0) {
                tcgen05::fence_after_barrier();
                tcgen05::multiply<Kind>({tensor_memory::address(base, 0, tensor_memory::d_column),
                                         shared_descriptor(tcgen05::shared_address(shared_a), m),
                                         shared_descriptor(tcgen05::shared_address(shared_b), n), product.descriptor,
                                         tensor_memory::address(base, 0, tensor_memory::a_scales_column),
                                         tensor_memory::address(base, 0, tensor_memory::b_scales_column),
                                         step > 0 || c != nullptr});
                tcgen05::arrive_when_done(&done);
            }
            tcgen05::wait(&done, phase);
            phase ^= 1;
            tcgen05::fence_after_barrier();
        }
        tcgen05::load(d_address, d);
        pack(static_cast<std::uint32_t*>(memory.d) + d_row, halves, d);
    }
    tcgen05::fence_before_barrier();
    __syncthreads();
    if (thread < 32) tcgen05::free(base);
}

/// One for each instruction, so that a launcher needs no more than its type.
template <int M, int N, int K, Element A, Element B, Element D, Modifier Modified>
void launch(const ProductExtents& extents, const ProductPointers& memory, cudaStream_t stream) {
    static_assert(M == m && N == n && K * bits_of(A) == 32 * step_words);
    constexpr Instruction row = instruction_of(Family::tcgen05, blackwell_only, {M, N, K}, A, B, D, Modified);
    constexpr TensorProduct product{row.shape, A, B, D, row.scales(), instruction_descriptor(row)};
    tensor_gemm<tensor_kind(row)><<<blocks_for(extents.tiles(), 1), threads, 0, stream>>>(extents, memory, product);
}

}  // namespace

std::span<const Launcher> tcgen05_launchers() {
#define ULPLAB_TCGEN05_LAUNCHER(AVAILABILITY, M, N, K, A, B, D, MODIFIER)   \
    {ULPLAB_INSTRUCTION(tcgen05, AVAILABILITY, M, N, K, A, B, D, MODIFIER), \
     launch<M, N, K, Element::A, Element::B, Element::D, Modifier::MODIFIER>},
    static constexpr Launcher table[] = {ULPLAB_TCGEN05(ULPLAB_TCGEN05_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
