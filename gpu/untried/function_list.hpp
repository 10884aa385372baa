// The functions of numbers that a GPU has as instructions, each named once: X(Type, kind of operands and result, PTX
// name, model). Kinds: function_kinds.cuh has the instruction's operands, functions.cpp how many operands are asked.
#pragma once

// clang-format off
/// From sm_80.
#define ULPLAB_HARDWARE_FUNCTIONS_SM80(X)                                                          \
    X(Ex2Fp32, fp32_to_fp32, "ex2.approx.f32", NoModel)                                            \
    X(Ex2FtzFp32, fp32_to_fp32, "ex2.approx.ftz.f32", NoModel)                                     \
    X(Lg2Fp32, fp32_to_fp32, "lg2.approx.f32", NoModel)                                            \
    X(Lg2FtzFp32, fp32_to_fp32, "lg2.approx.ftz.f32", NoModel)                                     \
    X(RcpFp32, fp32_to_fp32, "rcp.approx.f32", NoModel)                                            \
    X(RcpFtzFp32, fp32_to_fp32, "rcp.approx.ftz.f32", NoModel)                                     \
    X(RsqrtFp32, fp32_to_fp32, "rsqrt.approx.f32", NoModel)                                        \
    X(SqrtFp32, fp32_to_fp32, "sqrt.approx.f32", NoModel)                                          \
    X(SinFp32, fp32_to_fp32, "sin.approx.f32", NoModel)                                            \
    X(CosFp32, fp32_to_fp32, "cos.approx.f32", NoModel)                                            \
    X(TanhFp32, fp32_to_fp32, "tanh.approx.f32", NoModel)                                          \
    X(Ex2Fp16, half_to_half, "ex2.approx.f16", NoModel)                                            \
    X(TanhFp16, half_to_half, "tanh.approx.f16", NoModel)                                          \
    X(CvtRnFp16Fp32, fp32_to_half, "cvt.rn.f16.f32", Fp16OfFp32)                                   \
    X(CvtRzFp16Fp32, fp32_to_half, "cvt.rz.f16.f32", Fp16OfFp32Truncated)                          \
    X(CvtRmFp16Fp32, fp32_to_half, "cvt.rm.f16.f32", Fp16OfFp32Down)                               \
    X(CvtRpFp16Fp32, fp32_to_half, "cvt.rp.f16.f32", Fp16OfFp32Up)                                 \
    X(CvtSatFp16Fp32, fp32_to_half, "cvt.rn.satfinite.f16.f32", Fp16OfFp32Saturated)               \
    X(CvtRnBf16Fp32, fp32_to_half, "cvt.rn.bf16.f32", Bf16OfFp32)                                  \
    X(CvtRzBf16Fp32, fp32_to_half, "cvt.rz.bf16.f32", Bf16OfFp32Truncated)                         \
    X(CvtFp16x2Fp32, fp32_to_halves, "cvt.rn.f16x2.f32", Fp16OfFp32)                               \
    X(CvtBf16x2Fp32, fp32_to_halves, "cvt.rn.bf16x2.f32", Bf16OfFp32)                              \
    X(CvtRnaTf32Fp32, fp32_to_word, "cvt.rna.tf32.f32", Tf32OfFp32Away)                            \
    X(CvtFp32Fp16, half_to_fp32, "cvt.f32.f16", Fp32OfFp16)                                        \
    X(AddRnFp16, two_halves, "add.rn.f16", AddFp16)                                                \
    X(MulRnFp16, two_halves, "mul.rn.f16", MultiplyFp16)                                           \
    X(FmaRnFp16, three_halves, "fma.rn.f16", FmaFp16)                                              \
    X(FmaRnFtzFp16, three_halves, "fma.rn.ftz.f16", FmaFp16Flushed)                                \
    X(FmaRnBf16, three_halves, "fma.rn.bf16", FmaBf16)                                             \
    X(ReduxAdd, words_of_warp, "redux.sync.add.s32", WarpSum)                                      \
    X(ReduxMin, words_of_warp, "redux.sync.min.s32", WarpMinimum)                                  \
    X(ReduxMax, words_of_warp, "redux.sync.max.u32", WarpMaximum)                                  \
    X(AtomSharedAdd, shared_atomic_of_warp, "atom.shared.add.f32", AscendingLanes)                 \
    X(AtomGlobalAdd, global_atomic_of_warp, "atom.global.add.f32", AscendingLanes)
/// From sm_90.
#define ULPLAB_HARDWARE_FUNCTIONS_SM90(X)                                                          \
    X(Ex2Bf16, half_to_half, "ex2.approx.ftz.bf16", NoModel)                                       \
    X(TanhBf16, half_to_half, "tanh.approx.bf16", NoModel)                                         \
    X(CvtRnTf32Fp32, fp32_to_word, "cvt.rn.tf32.f32", Tf32OfFp32)                                  \
    X(CvtRzTf32Fp32, fp32_to_word, "cvt.rz.tf32.f32", Tf32OfFp32Truncated)                         \
    X(CvtFp32Bf16, half_to_fp32, "cvt.f32.bf16", Fp32OfBf16)                                       \
    X(CvtFp16Bf16, half_to_half, "cvt.rn.f16.bf16", Fp16OfBf16)                                    \
    X(CvtBf16Fp16, half_to_half, "cvt.rn.bf16.f16", Bf16OfFp16)                                    \
    X(CvtE4m3Fp32, fp32_to_pair, "cvt.rn.satfinite.e4m3x2.f32", E4m3OfFp32)                        \
    X(CvtE5m2Fp32, fp32_to_pair, "cvt.rn.satfinite.e5m2x2.f32", E5m2OfFp32)                        \
    X(CvtE4m3Fp16, halves_to_pair, "cvt.rn.satfinite.e4m3x2.f16x2", E4m3OfFp16)                    \
    X(CvtE5m2Fp16, halves_to_pair, "cvt.rn.satfinite.e5m2x2.f16x2", E5m2OfFp16)                    \
    X(CvtFp16E4m3, pair_to_halves, "cvt.rn.f16x2.e4m3x2", Fp16OfE4m3)                              \
    X(CvtFp16E5m2, pair_to_halves, "cvt.rn.f16x2.e5m2x2", Fp16OfE5m2)                              \
    X(AddRnBf16, two_halves, "add.rn.bf16", AddBf16)                                               \
    X(MulRnBf16, two_halves, "mul.rn.bf16", MultiplyBf16)
/// From sm_100 with features of the architecture or its family (100a, 120a): FP6, FP4 and scales.
#define ULPLAB_HARDWARE_FUNCTIONS_SM100(X)                                                         \
    X(CvtE2m3Fp32, fp32_to_pair, "cvt.rn.satfinite.e2m3x2.f32", E2m3OfFp32)                        \
    X(CvtE3m2Fp32, fp32_to_pair, "cvt.rn.satfinite.e3m2x2.f32", E3m2OfFp32)                        \
    X(CvtE2m1Fp32, fp32_to_nibbles, "cvt.rn.satfinite.e2m1x2.f32", E2m1OfFp32)                     \
    X(CvtRzE8m0Fp32, fp32_to_pair, "cvt.rz.satfinite.ue8m0x2.f32", E8m0OfFp32Truncated)            \
    X(CvtRpE8m0Fp32, fp32_to_pair, "cvt.rp.satfinite.ue8m0x2.f32", E8m0OfFp32Up)                   \
    X(CvtFp16E2m3, pair_to_halves, "cvt.rn.f16x2.e2m3x2", Fp16OfE2m3)                              \
    X(CvtFp16E3m2, pair_to_halves, "cvt.rn.f16x2.e3m2x2", Fp16OfE3m2)                              \
    X(CvtFp16E2m1, nibbles_to_halves, "cvt.rn.f16x2.e2m1x2", Fp16OfE2m1)                           \
    X(CvtBf16E8m0, pair_to_halves, "cvt.rn.bf16x2.ue8m0x2", Bf16OfE8m0)
/// Of sm_100 alone: stochastic rounding, whose use of the random bits nobody has said, and the least of a warp's floats.
#define ULPLAB_HARDWARE_FUNCTIONS_SM100_ONLY(X)                                                    \
    X(CvtRsFp16Fp32, two_stochastic, "cvt.rs.f16x2.f32", NoModel)                                  \
    X(CvtRsBf16Fp32, two_stochastic, "cvt.rs.bf16x2.f32", NoModel)                                 \
    X(CvtRsE4m3Fp32, four_stochastic, "cvt.rs.satfinite.e4m3x4.f32", NoModel)                      \
    X(CvtRsE5m2Fp32, four_stochastic, "cvt.rs.satfinite.e5m2x4.f32", NoModel)                      \
    X(CvtRsE2m3Fp32, four_stochastic, "cvt.rs.satfinite.e2m3x4.f32", NoModel)                      \
    X(CvtRsE3m2Fp32, four_stochastic, "cvt.rs.satfinite.e3m2x4.f32", NoModel)                      \
    X(CvtRsE2m1Fp32, four_stochastic_nibbles, "cvt.rs.satfinite.e2m1x4.f32", NoModel)              \
    X(ReduxMinFp32, floats_of_warp, "redux.sync.min.f32", WarpMinimumFp32)                         \
    X(ReduxMaxFp32, floats_of_warp, "redux.sync.max.abs.NaN.f32", WarpMaximumMagnitude)
// clang-format on
