// Products by tcgen05.mma: a block a tile of 128 x 16, one kernel for each kind. Compiled for sm_100a only.
#include <cstdint>

#include "gpu/instructions/instruction_list.hpp"
#include "gpu/instructions/product.hpp"
#include "gpu/kernels/launch.cuh"
#include "gpu/untried/tensor_memory.hpp"

// tcgen05 of sm_100a: what a block needs of it, one asm statement each (PTX ISA 9.0, section 9.7.16). Where the
// operands lie and what the descriptors say: tensor_memory.hpp.

namespace ulp::gpu::tcgen05 {

inline __device__ std::uint32_t shared_address(const void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// By one whole warp: the address of the allocated columns is written to shared memory.
inline __device__ void allocate(std::uint32_t* shared) {
    static_assert(tensor_memory::columns == 32);
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared_address(shared))
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}
/// By the same warp.
inline __device__ void free(std::uint32_t base) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(base));
}

/// Before a barrier after which another thread uses tensor memory, and after such a barrier.
inline __device__ void fence_before_barrier() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
inline __device__ void fence_after_barrier() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
/// Shared memory written by ordinary stores becomes visible to the matrix unit.
inline __device__ void fence_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// A warp's 32 lanes, 16 columns from `address` on: a lane of the warp holds a lane's columns. Complete on return.
inline __device__ void store(std::uint32_t address, const std::uint32_t (&x)[16]) {
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15, %16};\ntcgen05.wait::st.sync.aligned;" ::"r"(address),
        "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(x[8]), "r"(x[9]),
        "r"(x[10]), "r"(x[11]), "r"(x[12]), "r"(x[13]), "r"(x[14]), "r"(x[15])
        : "memory");
}
inline __device__ void store(std::uint32_t address, const std::uint32_t (&x)[4]) {
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};\ntcgen05.wait::st.sync.aligned;" ::"r"(address),
        "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
        : "memory");
}
inline __device__ void load(std::uint32_t address, std::uint32_t (&x)[16]) {
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15}, [%16];\ntcgen05.wait::ld.sync.aligned;"
        : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7]), "=r"(x[8]),
          "=r"(x[9]), "=r"(x[10]), "=r"(x[11]), "=r"(x[12]), "=r"(x[13]), "=r"(x[14]), "=r"(x[15])
        : "r"(address)
        : "memory");
}

/// What one thread enqueues: d = a * b + (accumulate ? d : 0).
struct Operands {
    std::uint32_t d;
    std::uint64_t a, b;
    std::uint32_t instruction;
    std::uint32_t a_scales, b_scales;
    bool accumulate;
};
#define ULPLAB_TCGEN05_MMA(KIND)                                                                 \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::" KIND \
                 " [%0], %1, %2, %3, p;\n}" ::"r"(o.d),                                          \
                 "l"(o.a), "l"(o.b), "r"(o.instruction), "r"(o.accumulate ? 1 : 0)               \
                 : "memory")
#define ULPLAB_TCGEN05_SCALED_MMA(KIND)                                                                              \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\ntcgen05.mma.cta_group::1.kind::" KIND                     \
                 " [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(o.d),                                                  \
                 "l"(o.a), "l"(o.b), "r"(o.instruction), "r"(o.a_scales), "r"(o.b_scales), "r"(o.accumulate ? 1 : 0) \
                 : "memory")
template <TensorKind Kind>
__device__ void multiply(const Operands& o) {
    if constexpr (Kind == TensorKind::f16) ULPLAB_TCGEN05_MMA("f16");
    if constexpr (Kind == TensorKind::tf32) ULPLAB_TCGEN05_MMA("tf32");
    if constexpr (Kind == TensorKind::i8) ULPLAB_TCGEN05_MMA("i8");
    if constexpr (Kind == TensorKind::f8f6f4) ULPLAB_TCGEN05_MMA("f8f6f4");
    if constexpr (Kind == TensorKind::mxf8f6f4) ULPLAB_TCGEN05_SCALED_MMA("mxf8f6f4.block_scale.scale_vec::1X");
    if constexpr (Kind == TensorKind::mxf4) ULPLAB_TCGEN05_SCALED_MMA("mxf4.block_scale.scale_vec::2X");
    if constexpr (Kind == TensorKind::mxf4nvf4) ULPLAB_TCGEN05_SCALED_MMA("mxf4nvf4.block_scale.scale_vec::4X");
}
#undef ULPLAB_TCGEN05_MMA
#undef ULPLAB_TCGEN05_SCALED_MMA

/// A barrier of one arrival, by one thread.
inline __device__ void make_barrier(std::uint64_t* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}
/// By the thread that enqueued: the barrier's phase ends when the products are done.
inline __device__ void arrive_when_done(std::uint64_t* barrier) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(barrier))
        : "memory");
}
inline __device__ void wait(std::uint64_t* barrier, std::uint32_t phase) {
    std::uint32_t done = 0;
    while (done == 0) {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(phase)
                     : "memory");
    }
}

}  // namespace ulp::gpu::tcgen05

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
