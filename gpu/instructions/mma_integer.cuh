// mma.sync with 8-bit, 4-bit and 1-bit inputs and an s32 accumulator that wraps or, with .satfinite, saturates.
#pragma once

#include "gpu/instructions/warp_tile.cuh"

namespace ulp::gpu {

#define ULPLAB_MMA_S32_A4_B2(Name, K, BITS, PTX)                                                                    \
    struct Name : WarpTile<16, 8, K, BITS, 32> {                                                                    \
        static __device__ void apply(Word (&d)[4], const Word (&a)[4], const Word (&b)[2]) {                        \
            asm volatile("mma.sync.aligned." PTX " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                           \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                       \
        }                                                                                                           \
    }
#define ULPLAB_MMA_S32_A2_B1(Name, K, BITS, PTX)                                                        \
    struct Name : WarpTile<16, 8, K, BITS, 32> {                                                        \
        static __device__ void apply(Word (&d)[4], const Word (&a)[2], const Word (&b)[1]) {            \
            asm volatile("mma.sync.aligned." PTX " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" \
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                               \
                         : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                            \
        }                                                                                               \
    }
#define ULPLAB_MMA_S32_A1_B1(Name, K, BITS, PTX)                                             \
    struct Name : WarpTile<8, 8, K, BITS, 32> {                                              \
        static __device__ void apply(Word (&d)[2], const Word (&a)[1], const Word (&b)[1]) { \
            asm volatile("mma.sync.aligned." PTX " {%0, %1}, {%2}, {%3}, {%0, %1};"          \
                         : "+r"(d[0]), "+r"(d[1])                                            \
                         : "r"(a[0]), "r"(b[0]));                                            \
        }                                                                                    \
    }

// The three shapes of a pair of types: a row of 128, 128 and 256 bits; each wrapping and saturating.
#define ULPLAB_MMA_INTEGER(A, B, a, b, BITS, K1, K2)                                                             \
    ULPLAB_MMA_S32_A1_B1(MmaM8K##K1##A##B, K1, BITS, "m8n8k" #K1 ".row.col.s32." a "." b ".s32");                \
    ULPLAB_MMA_S32_A2_B1(MmaK##K1##A##B, K1, BITS, "m16n8k" #K1 ".row.col.s32." a "." b ".s32");                 \
    ULPLAB_MMA_S32_A4_B2(MmaK##K2##A##B, K2, BITS, "m16n8k" #K2 ".row.col.s32." a "." b ".s32");                 \
    ULPLAB_MMA_S32_A1_B1(MmaM8K##K1##A##B##Sat, K1, BITS, "m8n8k" #K1 ".row.col.satfinite.s32." a "." b ".s32"); \
    ULPLAB_MMA_S32_A2_B1(MmaK##K1##A##B##Sat, K1, BITS, "m16n8k" #K1 ".row.col.satfinite.s32." a "." b ".s32");  \
    ULPLAB_MMA_S32_A4_B2(MmaK##K2##A##B##Sat, K2, BITS, "m16n8k" #K2 ".row.col.satfinite.s32." a "." b ".s32")

ULPLAB_MMA_INTEGER(S8, S8, "s8", "s8", 8, 16, 32);
ULPLAB_MMA_INTEGER(S8, U8, "s8", "u8", 8, 16, 32);
ULPLAB_MMA_INTEGER(U8, S8, "u8", "s8", 8, 16, 32);
ULPLAB_MMA_INTEGER(U8, U8, "u8", "u8", 8, 16, 32);
ULPLAB_MMA_INTEGER(S4, S4, "s4", "s4", 4, 32, 64);
ULPLAB_MMA_INTEGER(S4, U4, "s4", "u4", 4, 32, 64);
ULPLAB_MMA_INTEGER(U4, S4, "u4", "s4", 4, 32, 64);
ULPLAB_MMA_INTEGER(U4, U4, "u4", "u4", 4, 32, 64);

ULPLAB_MMA_S32_A1_B1(MmaM8K128Xor, 128, 1, "m8n8k128.row.col.s32.b1.b1.s32.xor.popc");
ULPLAB_MMA_S32_A2_B1(MmaK128Xor, 128, 1, "m16n8k128.row.col.s32.b1.b1.s32.xor.popc");
ULPLAB_MMA_S32_A4_B2(MmaK256Xor, 256, 1, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc");
ULPLAB_MMA_S32_A1_B1(MmaM8K128And, 128, 1, "m8n8k128.row.col.s32.b1.b1.s32.and.popc");
ULPLAB_MMA_S32_A2_B1(MmaK128And, 128, 1, "m16n8k128.row.col.s32.b1.b1.s32.and.popc");
ULPLAB_MMA_S32_A4_B2(MmaK256And, 256, 1, "m16n8k256.row.col.s32.b1.b1.s32.and.popc");

#undef ULPLAB_MMA_INTEGER
#undef ULPLAB_MMA_S32_A4_B2
#undef ULPLAB_MMA_S32_A2_B1
#undef ULPLAB_MMA_S32_A1_B1

}  // namespace ulp::gpu
