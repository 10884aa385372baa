// The matrix instructions that the project runs, each named once: their table, their types with the PTX, the tables of
// kernels and the tests are made of these lists. X(availability, m, n, k, a, b, accumulator, modifier) for each.
//
// PTX ISA 9.0: tables of the shapes of mma.sync, of its formats on sm_120a alone (section 9.7.14.5.14; FP8 with FP8
// there is the instruction of sm_89), of wgmma.mma_async with n = 8, and of tcgen05.mma with m = 128 and n = 16, which
// every kind of it has (section 9.7.16.2.1); the last two take 32 bytes of k a step. A's and B's formats stand in
// fields of their own of tcgen05's descriptor, so kind::f16 has fp16 with bf16, too. PTX ISA 9.1 lists E8M0 scales for
// 16 FP4 elements (kind::mxf4nvf4, .scale_vec::4X): in mma.sync its compiler must know them, in tcgen05 they are a bit
// of the descriptor.
#pragma once

// clang-format off
#define ULPLAB_MMA_HALVES(X, K)                                                                         \
    X(ampere, 16, 8, K, fp16, fp16, fp32, unmodified) X(ampere, 16, 8, K, fp16, fp16, fp16, unmodified) \
    X(ampere, 16, 8, K, bf16, bf16, fp32, unmodified)
#define ULPLAB_MMA_FLOATS(X)                                                                           \
    ULPLAB_MMA_HALVES(X, 8) ULPLAB_MMA_HALVES(X, 16) X(ampere, 16, 8, 4, tf32, tf32, fp32, unmodified) \
    X(ampere, 16, 8, 8, tf32, tf32, fp32, unmodified)

/// X(availability, m, n, k, a, b, ...) for all pairs of two elements.
#define ULPLAB_PAIRS_OF(X, AVAILABILITY, M, N, K, P, Q, ...)                                \
    X(AVAILABILITY, M, N, K, P, P, __VA_ARGS__) X(AVAILABILITY, M, N, K, P, Q, __VA_ARGS__) \
    X(AVAILABILITY, M, N, K, Q, P, __VA_ARGS__) X(AVAILABILITY, M, N, K, Q, Q, __VA_ARGS__)

#define ULPLAB_MMA_FP8(X)                                            \
    ULPLAB_PAIRS_OF(X, ada, 16, 8, 16, e4m3, e5m2, fp32, unmodified) \
    ULPLAB_PAIRS_OF(X, ada, 16, 8, 16, e4m3, e5m2, fp16, unmodified) \
    ULPLAB_PAIRS_OF(X, ada, 16, 8, 32, e4m3, e5m2, fp32, unmodified) \
    ULPLAB_PAIRS_OF(X, ada, 16, 8, 32, e4m3, e5m2, fp16, unmodified)

#define ULPLAB_MMA_FP64_M8(X) X(ampere, 8, 8, 4, fp64, fp64, fp64, unmodified)
#define ULPLAB_MMA_FP64_M16(X)                                                                          \
    X(hopper, 16, 8, 4, fp64, fp64, fp64, unmodified) X(hopper, 16, 8, 8, fp64, fp64, fp64, unmodified) \
    X(hopper, 16, 8, 16, fp64, fp64, fp64, unmodified)

/// X(availability, m, n, k, a, b, ...) for the 21 pairs of FP8, FP6 and FP4 that are not two of FP8.
#define ULPLAB_A_WITH_FP6_FP4(X, AVAILABILITY, M, N, K, A, ...)                                   \
    X(AVAILABILITY, M, N, K, A, e3m2, __VA_ARGS__) X(AVAILABILITY, M, N, K, A, e2m3, __VA_ARGS__) \
    X(AVAILABILITY, M, N, K, A, e2m1, __VA_ARGS__)
#define ULPLAB_A_WITH_ALL(X, AVAILABILITY, M, N, K, A, ...)                                       \
    X(AVAILABILITY, M, N, K, A, e4m3, __VA_ARGS__) X(AVAILABILITY, M, N, K, A, e5m2, __VA_ARGS__) \
    ULPLAB_A_WITH_FP6_FP4(X, AVAILABILITY, M, N, K, A, __VA_ARGS__)
#define ULPLAB_PAIRS_WITH_FP6_FP4(X, AVAILABILITY, M, N, K, ...)       \
    ULPLAB_A_WITH_FP6_FP4(X, AVAILABILITY, M, N, K, e4m3, __VA_ARGS__) \
    ULPLAB_A_WITH_FP6_FP4(X, AVAILABILITY, M, N, K, e5m2, __VA_ARGS__) \
    ULPLAB_A_WITH_ALL(X, AVAILABILITY, M, N, K, e3m2, __VA_ARGS__)     \
    ULPLAB_A_WITH_ALL(X, AVAILABILITY, M, N, K, e2m3, __VA_ARGS__)     \
    ULPLAB_A_WITH_ALL(X, AVAILABILITY, M, N, K, e2m1, __VA_ARGS__)
/// All 25.
#define ULPLAB_PAIRS_OF_FP8_FP6_FP4(X, AVAILABILITY, M, N, K, ...)     \
    ULPLAB_PAIRS_OF(X, AVAILABILITY, M, N, K, e4m3, e5m2, __VA_ARGS__) \
    ULPLAB_PAIRS_WITH_FP6_FP4(X, AVAILABILITY, M, N, K, __VA_ARGS__)

#define ULPLAB_MMA_NARROW(X)                                                    \
    ULPLAB_PAIRS_WITH_FP6_FP4(X, rtx_blackwell_only, 16, 8, 32, fp32, f8f6f4)   \
    ULPLAB_PAIRS_WITH_FP6_FP4(X, rtx_blackwell_only, 16, 8, 32, fp16, f8f6f4)

#define ULPLAB_MMA_SCALED(X)                                                      \
    ULPLAB_PAIRS_OF_FP8_FP6_FP4(X, rtx_blackwell_only, 16, 8, 32, fp32, mxf8f6f4) \
    X(rtx_blackwell_only, 16, 8, 64, packed_e2m1, packed_e2m1, fp32, mxf4)        \
    X(rtx_blackwell_only, 16, 8, 64, packed_e2m1, packed_e2m1, fp32, nvf4)

#define ULPLAB_MMA_SIGNS(X, M, K, S, U)                        \
    ULPLAB_PAIRS_OF(X, ampere, M, 8, K, S, U, s32, unmodified) \
    ULPLAB_PAIRS_OF(X, ampere, M, 8, K, S, U, s32, satfinite)
#define ULPLAB_MMA_BITS(X, M, K) \
    X(ampere, M, 8, K, b1, b1, s32, xor_popc) X(ampere, M, 8, K, b1, b1, s32, and_popc)
#define ULPLAB_MMA_INTEGERS(X)                                                                         \
    ULPLAB_MMA_SIGNS(X, 8, 16, s8, u8) ULPLAB_MMA_SIGNS(X, 16, 16, s8, u8)                             \
    ULPLAB_MMA_SIGNS(X, 16, 32, s8, u8) ULPLAB_MMA_SIGNS(X, 8, 32, s4, u4)                             \
    ULPLAB_MMA_SIGNS(X, 16, 32, s4, u4) ULPLAB_MMA_SIGNS(X, 16, 64, s4, u4) ULPLAB_MMA_BITS(X, 8, 128) \
    ULPLAB_MMA_BITS(X, 16, 128) ULPLAB_MMA_BITS(X, 16, 256)

/// The compiler's C++ interface, which issues several mma.sync.
#define ULPLAB_WMMA(X)                                                                                      \
    X(ampere, 16, 16, 16, fp16, fp16, fp32, unmodified) X(ampere, 16, 16, 16, fp16, fp16, fp16, unmodified) \
    X(ampere, 16, 16, 16, bf16, bf16, fp32, unmodified) X(ampere, 16, 16, 8, tf32, tf32, fp32, unmodified)  \
    X(ampere, 16, 16, 16, s8, s8, s32, unmodified) X(ampere, 16, 16, 16, u8, u8, s32, unmodified)           \
    X(ampere, 8, 8, 4, fp64, fp64, fp64, unmodified)

#define ULPLAB_WGMMA(X)                                                      \
    X(hopper_only, 64, 8, 16, fp16, fp16, fp32, unmodified)                  \
    X(hopper_only, 64, 8, 16, fp16, fp16, fp16, unmodified)                  \
    X(hopper_only, 64, 8, 16, bf16, bf16, fp32, unmodified)                  \
    X(hopper_only, 64, 8, 8, tf32, tf32, fp32, unmodified)                   \
    ULPLAB_PAIRS_OF(X, hopper_only, 64, 8, 32, e4m3, e5m2, fp32, unmodified) \
    ULPLAB_PAIRS_OF(X, hopper_only, 64, 8, 32, e4m3, e5m2, fp16, unmodified) \
    ULPLAB_PAIRS_OF(X, hopper_only, 64, 8, 32, s8, u8, s32, unmodified)      \
    X(hopper_only, 64, 8, 256, b1, b1, s32, and_popc)

#define ULPLAB_TCGEN05(X)                                                         \
    X(blackwell_only, 128, 16, 16, fp16, fp16, fp16, unmodified)                  \
    ULPLAB_PAIRS_OF(X, blackwell_only, 128, 16, 16, fp16, bf16, fp32, unmodified) \
    X(blackwell_only, 128, 16, 8, tf32, tf32, fp32, unmodified)                   \
    ULPLAB_PAIRS_OF_FP8_FP6_FP4(X, blackwell_only, 128, 16, 32, fp32, f8f6f4)     \
    ULPLAB_PAIRS_OF_FP8_FP6_FP4(X, blackwell_only, 128, 16, 32, fp16, f8f6f4)     \
    ULPLAB_PAIRS_OF_FP8_FP6_FP4(X, blackwell_only, 128, 16, 32, fp32, mxf8f6f4)   \
    X(blackwell_only, 128, 16, 64, packed_e2m1, packed_e2m1, fp32, mxf4)          \
    X(blackwell_only, 128, 16, 64, packed_e2m1, packed_e2m1, fp32, mxf4_block16)  \
    X(blackwell_only, 128, 16, 64, packed_e2m1, packed_e2m1, fp32, nvf4)          \
    ULPLAB_PAIRS_OF(X, blackwell_only, 128, 16, 32, s8, u8, s32, unmodified)      \
    ULPLAB_PAIRS_OF(X, blackwell_only, 128, 16, 32, s8, u8, s32, satfinite)
// clang-format on
