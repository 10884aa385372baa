// tcgen05 of sm_100a: what a block needs of it, one asm statement each (PTX ISA 9.0, section 9.7.16). Where the
// operands lie and what the descriptors say: tensor_memory.hpp.
#pragma once

#include <cstdint>

#include "gpu/untried/tensor_memory.hpp"

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
