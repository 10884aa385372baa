// Products by wgmma: a warpgroup a tile of 64 x 8. Compiled for sm_90a only.
#include <cstdint>

#include "gpu/instructions/fragment_layout.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/instructions/instruction_list.hpp"
#include "gpu/instructions/mma.cuh"
#include "gpu/instructions/product.hpp"
#include "gpu/kernels/launch.cuh"

namespace ulp::gpu {

// wgmma.mma_async of sm_90a: a warpgroup of 4 warps multiplies operands that lie in shared memory (PTX ISA 9.0, section
// 9.7.15). m64n8 with 32 bytes of k.

/// The 64-bit descriptor of a K-major operand without swizzling (PTX ISA, "Matrix descriptor format"):
///
///     bits 0-13 address / 16    16-29 bytes to the next core matrix along k / 16    32-45 bytes to the next 8 rows /
///     16
inline __device__ std::uint64_t operand_descriptor(const std::uint32_t* shared, int rows) {
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    const auto field = [](std::uint64_t bytes) { return (bytes & 0x3FFFF) >> 4; };
    return field(address) | field(static_cast<std::uint64_t>(layout::leading_byte_offset(rows))) << 16 |
           field(layout::stride_byte_offset) << 32;
}

/// Shared memory written by ordinary stores becomes visible to the matrix unit.
inline __device__ void fence_shared_for_wgmma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// What an instruction states: `apply(d, a, b, accumulate)` enqueues d = a * b + (accumulate ? d : 0); scale-d is the
/// predicate that tells the two apart.
template <int M, int N, int K, Element A, Element D>
struct WarpgroupTile {
    using Word = std::uint32_t;
    static constexpr TileShape shape{M, N, K};
    static constexpr int input_bits = bits_of(A);
    static constexpr int accumulator_bits = bits_of(D);
    static constexpr int d_words = accumulator_bits == 16 ? 2 : 4;
    static_assert(M == 64 && N == 8 && K * input_bits == 256);
};

template <int M, int N, int K, Element A, Element B, Element D>
struct Wgmma;

// One asm statement from the fence to the wait: D's registers belong to the matrix unit in between, and the compiler
// may move them around wherever it sees a gap.
#define ULPLAB_WGMMA_BEGIN(accumulate)             \
    "{\n.reg .pred p;\nsetp.ne.b32 p, " accumulate \
    ", 0;\nwgmma.fence.sync.aligned;\n"            \
    "wgmma.mma_async.sync.aligned."
#define ULPLAB_WGMMA_END ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}"

// What follows the operands: constants that negate (1: not) A and B and, for 16-bit inputs, transpose (0: not) them.
#define ULPLAB_WGMMA_END_fp16 ", 1, 1, 0, 0"
#define ULPLAB_WGMMA_END_bf16 ", 1, 1, 0, 0"
#define ULPLAB_WGMMA_END_tf32 ", 1, 1"
#define ULPLAB_WGMMA_END_e4m3 ", 1, 1"
#define ULPLAB_WGMMA_END_e5m2 ", 1, 1"
#define ULPLAB_WGMMA_END_s8 ""
#define ULPLAB_WGMMA_END_u8 ""
#define ULPLAB_WGMMA_END_b1 ""
#define ULPLAB_WGMMA_unmodified ""
#define ULPLAB_WGMMA_and_popc ".and.popc"

#define ULPLAB_DEFINE_WGMMA(AVAILABILITY, M, N, K, A, B, D, MODIFIER)                                            \
    template <>                                                                                                  \
    struct Wgmma<M, N, K, Element::A, Element::B, Element::D> : WarpgroupTile<M, N, K, Element::A, Element::D> { \
        template <int Ds>                                                                                        \
        static __device__ void apply(Word (&d)[Ds], std::uint64_t a, std::uint64_t b, bool accumulate) {         \
            static_assert(Ds == d_words);                                                                        \
            if constexpr (Ds == 4) {                                                                             \
                asm volatile(ULPLAB_WGMMA_BEGIN("%6") ULPLAB_WGMMA_PTX(                                          \
                                 M, N, K, A, B, D,                                                               \
                                 MODIFIER) " {%0, %1, %2, %3}, %4, %5, p" ULPLAB_WGMMA_END_##A ULPLAB_WGMMA_END  \
                             : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                    \
                             : "l"(a), "l"(b), "r"(accumulate ? 1 : 0)                                           \
                             : "memory");                                                                        \
            } else {                                                                                             \
                asm volatile(                                                                                    \
                    ULPLAB_WGMMA_BEGIN("%4") ULPLAB_WGMMA_PTX(                                                   \
                        M, N, K, A, B, D, MODIFIER) " {%0, %1}, %2, %3, p" ULPLAB_WGMMA_END_##A ULPLAB_WGMMA_END \
                    : "+r"(d[0]), "+r"(d[1])                                                                     \
                    : "l"(a), "l"(b), "r"(accumulate ? 1 : 0)                                                    \
                    : "memory");                                                                                 \
            }                                                                                                    \
        }                                                                                                        \
    };
#define ULPLAB_WGMMA_PTX(M, N, K, A, B, D, MODIFIER) \
    ULPLAB_PTX_SHAPE(M, N, K) "." ULPLAB_PTX_##D "." ULPLAB_PTX_##A "." ULPLAB_PTX_##B ULPLAB_WGMMA_##MODIFIER

ULPLAB_WGMMA(ULPLAB_DEFINE_WGMMA)

#undef ULPLAB_DEFINE_WGMMA
#undef ULPLAB_WGMMA_BEGIN
#undef ULPLAB_WGMMA_END

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
