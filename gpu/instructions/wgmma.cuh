// wgmma.mma_async of sm_90a: a warpgroup of 4 warps multiplies operands that lie in shared memory (PTX ISA 9.0, section
// 9.7.15). m64n8 with 32 bytes of k.
#pragma once

#include <cstdint>

#include "gpu/instructions/fragment_layout.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/instructions/instruction_list.hpp"
#include "gpu/instructions/ptx_names.cuh"

namespace ulp::gpu {

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

}  // namespace ulp::gpu
