// mma.sync of sm_80 and later with floating-point inputs: one wrapper an instruction (PTX ISA 9.0,
// section 9.7.14.5.14).
//
// An fp32 accumulator goes through float registers because PTX is typed; the moves keep every bit, NaNs too.
#pragma once

#include "gpu/instructions/warp_tile.cuh"

namespace ulp::gpu {

// Four registers of A, two of B: m16n8 with 64 bytes of k a row pair.
#define ULPLAB_MMA_FP32_A4_B2(Name, K, BITS, PTX)                                                                      \
    struct Name : WarpTile<16, 8, K, BITS, 32> {                                                                       \
        static __device__ void apply(Word (&d)[4], const Word (&a)[4], const Word (&b)[2]) {                           \
            float f[4] = {__uint_as_float(d[0]), __uint_as_float(d[1]), __uint_as_float(d[2]), __uint_as_float(d[3])}; \
            asm volatile("mma.sync.aligned." PTX " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"    \
                         : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                          \
            for (int i = 0; i < 4; ++i) d[i] = __float_as_uint(f[i]);                                                  \
        }                                                                                                              \
    }
// Two of A, one of B: half the k.
#define ULPLAB_MMA_FP32_A2_B1(Name, K, BITS, PTX)                                                                      \
    struct Name : WarpTile<16, 8, K, BITS, 32> {                                                                       \
        static __device__ void apply(Word (&d)[4], const Word (&a)[2], const Word (&b)[1]) {                           \
            float f[4] = {__uint_as_float(d[0]), __uint_as_float(d[1]), __uint_as_float(d[2]), __uint_as_float(d[3])}; \
            asm volatile("mma.sync.aligned." PTX " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                \
                         : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                           \
            for (int i = 0; i < 4; ++i) d[i] = __float_as_uint(f[i]);                                                  \
        }                                                                                                              \
    }
// An fp16 accumulator: two halves in a register.
#define ULPLAB_MMA_FP16_A4_B2(Name, K, BITS, PTX)                                                   \
    struct Name : WarpTile<16, 8, K, BITS, 16> {                                                    \
        static __device__ void apply(Word (&d)[2], const Word (&a)[4], const Word (&b)[2]) {        \
            asm volatile("mma.sync.aligned." PTX " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};" \
                         : "+r"(d[0]), "+r"(d[1])                                                   \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));       \
        }                                                                                           \
    }
#define ULPLAB_MMA_FP16_A2_B1(Name, K, BITS, PTX)                                            \
    struct Name : WarpTile<16, 8, K, BITS, 16> {                                             \
        static __device__ void apply(Word (&d)[2], const Word (&a)[2], const Word (&b)[1]) { \
            asm volatile("mma.sync.aligned." PTX " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"      \
                         : "+r"(d[0]), "+r"(d[1])                                            \
                         : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                 \
        }                                                                                    \
    }

ULPLAB_MMA_FP32_A2_B1(MmaK8Fp16Fp32, 8, 16, "m16n8k8.row.col.f32.f16.f16.f32");
ULPLAB_MMA_FP16_A2_B1(MmaK8Fp16Fp16, 8, 16, "m16n8k8.row.col.f16.f16.f16.f16");
ULPLAB_MMA_FP32_A2_B1(MmaK8Bf16Fp32, 8, 16, "m16n8k8.row.col.f32.bf16.bf16.f32");
ULPLAB_MMA_FP32_A4_B2(MmaK16Fp16Fp32, 16, 16, "m16n8k16.row.col.f32.f16.f16.f32");
ULPLAB_MMA_FP16_A4_B2(MmaK16Fp16Fp16, 16, 16, "m16n8k16.row.col.f16.f16.f16.f16");
ULPLAB_MMA_FP32_A4_B2(MmaK16Bf16Fp32, 16, 16, "m16n8k16.row.col.f32.bf16.bf16.f32");
ULPLAB_MMA_FP32_A2_B1(MmaK4Tf32Fp32, 4, 32, "m16n8k4.row.col.f32.tf32.tf32.f32");
ULPLAB_MMA_FP32_A4_B2(MmaK8Tf32Fp32, 8, 32, "m16n8k8.row.col.f32.tf32.tf32.f32");

// FP8: sm_89 and later.
#define ULPLAB_MMA_FP8(A, B, a, b)                                                            \
    ULPLAB_MMA_FP32_A2_B1(MmaK16##A##B##Fp32, 16, 8, "m16n8k16.row.col.f32." a "." b ".f32"); \
    ULPLAB_MMA_FP16_A2_B1(MmaK16##A##B##Fp16, 16, 8, "m16n8k16.row.col.f16." a "." b ".f16"); \
    ULPLAB_MMA_FP32_A4_B2(MmaK32##A##B##Fp32, 32, 8, "m16n8k32.row.col.f32." a "." b ".f32"); \
    ULPLAB_MMA_FP16_A4_B2(MmaK32##A##B##Fp16, 32, 8, "m16n8k32.row.col.f16." a "." b ".f16")
ULPLAB_MMA_FP8(E4m3, E4m3, "e4m3", "e4m3");
ULPLAB_MMA_FP8(E4m3, E5m2, "e4m3", "e5m2");
ULPLAB_MMA_FP8(E5m2, E4m3, "e5m2", "e4m3");
ULPLAB_MMA_FP8(E5m2, E5m2, "e5m2", "e5m2");
#undef ULPLAB_MMA_FP8

// FP6 and FP4, an element a byte: sm_120a.
#define ULPLAB_MMA_NARROW(E, e)                                                                         \
    ULPLAB_MMA_FP32_A4_B2(MmaK32##E##Fp32, 32, 8, "kind::f8f6f4.m16n8k32.row.col.f32." e "." e ".f32"); \
    ULPLAB_MMA_FP16_A4_B2(MmaK32##E##Fp16, 32, 8, "kind::f8f6f4.m16n8k32.row.col.f16." e "." e ".f16")
ULPLAB_MMA_NARROW(E3m2, "e3m2");
ULPLAB_MMA_NARROW(E2m3, "e2m3");
ULPLAB_MMA_NARROW(E2m1, "e2m1");
#undef ULPLAB_MMA_NARROW

#undef ULPLAB_MMA_FP32_A4_B2
#undef ULPLAB_MMA_FP32_A2_B1
#undef ULPLAB_MMA_FP16_A4_B2
#undef ULPLAB_MMA_FP16_A2_B1

}  // namespace ulp::gpu
