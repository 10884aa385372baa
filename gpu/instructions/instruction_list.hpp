// The matrix instructions that the project runs, each named once: their table, their types with the PTX, the tables of
// kernels and the tests are made of these lists. X(availability, m, n, k, a, b, accumulator, modifier) for each.
//
// PTX ISA 9.0: tables of the shapes of mma.sync, of its formats on sm_120a alone (section 9.7.14.5.14; FP8 there is the
// instruction of sm_89), and of wgmma.mma_async with n = 8, 32 bytes of k a step.
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

#define ULPLAB_MMA_NARROW_OF(X, E)                       \
    X(rtx_blackwell_only, 16, 8, 32, E, E, fp32, f8f6f4) \
    X(rtx_blackwell_only, 16, 8, 32, E, E, fp16, f8f6f4)
#define ULPLAB_MMA_NARROW(X) \
    ULPLAB_MMA_NARROW_OF(X, e3m2) ULPLAB_MMA_NARROW_OF(X, e2m3) ULPLAB_MMA_NARROW_OF(X, e2m1)

#define ULPLAB_MMA_MX(X, E) X(rtx_blackwell_only, 16, 8, 32, E, E, fp32, mxf8f6f4)
#define ULPLAB_MMA_SCALED(X)                                                                      \
    ULPLAB_MMA_MX(X, e4m3) ULPLAB_MMA_MX(X, e5m2) ULPLAB_MMA_MX(X, e3m2) ULPLAB_MMA_MX(X, e2m3)   \
    ULPLAB_MMA_MX(X, e2m1) X(rtx_blackwell_only, 16, 8, 64, packed_e2m1, packed_e2m1, fp32, mxf4) \
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
// clang-format on
