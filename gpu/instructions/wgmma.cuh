// wgmma.mma_async of sm_90a: a warpgroup of 4 warps multiplies operands that lie in shared memory (PTX ISA 9.0, section
// 9.7.15). m64n8 with 32 bytes of k.
#pragma once

#include <cstdint>

#include "gpu/instructions/fragment_layout.hpp"

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

/// What a wrapper states: `apply(d, a, b, accumulate)` enqueues d = a * b + (accumulate ? d : 0); scale-d is the
/// predicate that tells the two apart.
template <int K, int InputBits, int AccumulatorBits>
struct WarpgroupTile {
    using Word = std::uint32_t;
    static constexpr TileShape shape{64, 8, K};
    static constexpr int input_bits = InputBits;
    static constexpr int accumulator_bits = AccumulatorBits;
    static constexpr int d_words = AccumulatorBits == 16 ? 2 : 4;
    static_assert(K * InputBits == 256);
};

// One asm statement from the fence to the wait: D's registers belong to the matrix unit in between, and the compiler
// may move them around wherever it sees a gap.
#define ULPLAB_WGMMA_BEGIN(accumulate)             \
    "{\n.reg .pred p;\nsetp.ne.b32 p, " accumulate \
    ", 0;\nwgmma.fence.sync.aligned;\n"            \
    "wgmma.mma_async.sync.aligned."
#define ULPLAB_WGMMA_END ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}"

// `SCALES` are the constants that negate (1: not) and, for 16-bit inputs, transpose (0: not) A and B.
#define ULPLAB_WGMMA_FP32(Name, K, BITS, PTX, SCALES)                                                                  \
    struct Name : WarpgroupTile<K, BITS, 32> {                                                                         \
        static __device__ void apply(Word (&d)[4], std::uint64_t a, std::uint64_t b, bool accumulate) {                \
            float f[4] = {__uint_as_float(d[0]), __uint_as_float(d[1]), __uint_as_float(d[2]), __uint_as_float(d[3])}; \
            asm volatile(ULPLAB_WGMMA_BEGIN("%6") PTX " {%0, %1, %2, %3}, %4, %5, p, " SCALES ULPLAB_WGMMA_END         \
                         : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                              \
                         : "l"(a), "l"(b), "r"(accumulate ? 1 : 0)                                                     \
                         : "memory");                                                                                  \
            for (int i = 0; i < 4; ++i) d[i] = __float_as_uint(f[i]);                                                  \
        }                                                                                                              \
    }
#define ULPLAB_WGMMA_FP16(Name, K, BITS, PTX, SCALES)                                                   \
    struct Name : WarpgroupTile<K, BITS, 16> {                                                          \
        static __device__ void apply(Word (&d)[2], std::uint64_t a, std::uint64_t b, bool accumulate) { \
            asm volatile(ULPLAB_WGMMA_BEGIN("%4") PTX " {%0, %1}, %2, %3, p, " SCALES ULPLAB_WGMMA_END  \
                         : "+r"(d[0]), "+r"(d[1])                                                       \
                         : "l"(a), "l"(b), "r"(accumulate ? 1 : 0)                                      \
                         : "memory");                                                                   \
        }                                                                                               \
    }
#define ULPLAB_WGMMA_S32(Name, K, BITS, PTX)                                                            \
    struct Name : WarpgroupTile<K, BITS, 32> {                                                          \
        static __device__ void apply(Word (&d)[4], std::uint64_t a, std::uint64_t b, bool accumulate) { \
            asm volatile(ULPLAB_WGMMA_BEGIN("%6") PTX " {%0, %1, %2, %3}, %4, %5, p" ULPLAB_WGMMA_END   \
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                               \
                         : "l"(a), "l"(b), "r"(accumulate ? 1 : 0)                                      \
                         : "memory");                                                                   \
        }                                                                                               \
    }

ULPLAB_WGMMA_FP32(WgmmaFp16Fp32, 16, 16, "m64n8k16.f32.f16.f16", "1, 1, 0, 0");
ULPLAB_WGMMA_FP16(WgmmaFp16Fp16, 16, 16, "m64n8k16.f16.f16.f16", "1, 1, 0, 0");
ULPLAB_WGMMA_FP32(WgmmaBf16Fp32, 16, 16, "m64n8k16.f32.bf16.bf16", "1, 1, 0, 0");
ULPLAB_WGMMA_FP32(WgmmaTf32Fp32, 8, 32, "m64n8k8.f32.tf32.tf32", "1, 1");
#define ULPLAB_WGMMA_FP8(A, B, a, b)                                              \
    ULPLAB_WGMMA_FP32(Wgmma##A##B##Fp32, 32, 8, "m64n8k32.f32." a "." b, "1, 1"); \
    ULPLAB_WGMMA_FP16(Wgmma##A##B##Fp16, 32, 8, "m64n8k32.f16." a "." b, "1, 1")
ULPLAB_WGMMA_FP8(E4m3, E4m3, "e4m3", "e4m3");
ULPLAB_WGMMA_FP8(E4m3, E5m2, "e4m3", "e5m2");
ULPLAB_WGMMA_FP8(E5m2, E4m3, "e5m2", "e4m3");
ULPLAB_WGMMA_FP8(E5m2, E5m2, "e5m2", "e5m2");
ULPLAB_WGMMA_S32(WgmmaS8S8, 32, 8, "m64n8k32.s32.s8.s8");
ULPLAB_WGMMA_S32(WgmmaS8U8, 32, 8, "m64n8k32.s32.s8.u8");
ULPLAB_WGMMA_S32(WgmmaU8S8, 32, 8, "m64n8k32.s32.u8.s8");
ULPLAB_WGMMA_S32(WgmmaU8U8, 32, 8, "m64n8k32.s32.u8.u8");
ULPLAB_WGMMA_S32(WgmmaB1And, 256, 1, "m64n8k256.s32.b1.b1.and.popc");

#undef ULPLAB_WGMMA_FP8
#undef ULPLAB_WGMMA_FP32
#undef ULPLAB_WGMMA_FP16
#undef ULPLAB_WGMMA_S32
#undef ULPLAB_WGMMA_BEGIN
#undef ULPLAB_WGMMA_END

}  // namespace ulp::gpu
