// The functions of numbers that a GPU has as single instructions: X(Wrapper, PTX name, bits of an operand, model).
#pragma once

// clang-format off
/// From sm_80.
#define ULPLAB_HARDWARE_FUNCTIONS_SM80(X)                            \
    X(Ex2Fp32, "ex2.approx.f32", 32, NoModel)                        \
    X(Ex2FtzFp32, "ex2.approx.ftz.f32", 32, NoModel)                 \
    X(Lg2Fp32, "lg2.approx.f32", 32, NoModel)                        \
    X(Lg2FtzFp32, "lg2.approx.ftz.f32", 32, NoModel)                 \
    X(RcpFp32, "rcp.approx.f32", 32, NoModel)                        \
    X(RcpFtzFp32, "rcp.approx.ftz.f32", 32, NoModel)                 \
    X(RsqrtFp32, "rsqrt.approx.f32", 32, NoModel)                    \
    X(SqrtFp32, "sqrt.approx.f32", 32, NoModel)                      \
    X(SinFp32, "sin.approx.f32", 32, NoModel)                        \
    X(CosFp32, "cos.approx.f32", 32, NoModel)                        \
    X(TanhFp32, "tanh.approx.f32", 32, NoModel)                      \
    X(Ex2Fp16, "ex2.approx.f16", 16, NoModel)                        \
    X(TanhFp16, "tanh.approx.f16", 16, NoModel)                      \
    X(CvtRnFp16Fp32, "cvt.rn.f16.f32", 32, Fp16OfFp32)               \
    X(CvtRzFp16Fp32, "cvt.rz.f16.f32", 32, Fp16OfFp32Truncated)      \
    X(CvtRnBf16Fp32, "cvt.rn.bf16.f32", 32, Bf16OfFp32)              \
    X(CvtRzBf16Fp32, "cvt.rz.bf16.f32", 32, Bf16OfFp32Truncated)     \
    X(CvtFp32Fp16, "cvt.f32.f16", 16, Fp32OfFp16)                    \
    X(AddRnFp16, "add.rn.f16", 32, AddFp16)                          \
    X(MulRnFp16, "mul.rn.f16", 32, MultiplyFp16)                     \
    X(FmaRnFp16, "fma.rn.f16", 32, FmaFp16)                          \
    X(FmaRnBf16, "fma.rn.bf16", 32, FmaBf16)
/// From sm_90.
#define ULPLAB_HARDWARE_FUNCTIONS_SM90(X)                            \
    X(Ex2Bf16, "ex2.approx.ftz.bf16", 16, NoModel)                   \
    X(TanhBf16, "tanh.approx.bf16", 16, NoModel)                     \
    X(CvtE4m3Fp32, "cvt.rn.satfinite.e4m3x2.f32", 32, E4m3OfFp32)    \
    X(CvtE5m2Fp32, "cvt.rn.satfinite.e5m2x2.f32", 32, E5m2OfFp32)    \
    X(CvtE4m3Fp16, "cvt.rn.satfinite.e4m3x2.f16x2", 16, E4m3OfFp16)  \
    X(CvtE5m2Fp16, "cvt.rn.satfinite.e5m2x2.f16x2", 16, E5m2OfFp16)  \
    X(AddRnBf16, "add.rn.bf16", 32, AddBf16)                         \
    X(MulRnBf16, "mul.rn.bf16", 32, MultiplyBf16)
// clang-format on
