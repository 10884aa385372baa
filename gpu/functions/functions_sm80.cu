#include "gpu/functions/function_kernel.cuh"
#include "gpu/functions/function_list.hpp"

namespace ulp::gpu {
namespace {

ULPLAB_FP32_TO_FP32(Ex2Fp32, "ex2.approx.f32");
ULPLAB_FP32_TO_FP32(Ex2FtzFp32, "ex2.approx.ftz.f32");
ULPLAB_FP32_TO_FP32(Lg2Fp32, "lg2.approx.f32");
ULPLAB_FP32_TO_FP32(Lg2FtzFp32, "lg2.approx.ftz.f32");
ULPLAB_FP32_TO_FP32(RcpFp32, "rcp.approx.f32");
ULPLAB_FP32_TO_FP32(RcpFtzFp32, "rcp.approx.ftz.f32");
ULPLAB_FP32_TO_FP32(RsqrtFp32, "rsqrt.approx.f32");
ULPLAB_FP32_TO_FP32(SqrtFp32, "sqrt.approx.f32");
ULPLAB_FP32_TO_FP32(SinFp32, "sin.approx.f32");
ULPLAB_FP32_TO_FP32(CosFp32, "cos.approx.f32");
ULPLAB_FP32_TO_FP32(TanhFp32, "tanh.approx.f32");
ULPLAB_HALF_TO_HALF(Ex2Fp16, "ex2.approx.f16");
ULPLAB_HALF_TO_HALF(TanhFp16, "tanh.approx.f16");
ULPLAB_FP32_TO_HALF(CvtRnFp16Fp32, "cvt.rn.f16.f32");
ULPLAB_FP32_TO_HALF(CvtRzFp16Fp32, "cvt.rz.f16.f32");
ULPLAB_FP32_TO_HALF(CvtRnBf16Fp32, "cvt.rn.bf16.f32");
ULPLAB_FP32_TO_HALF(CvtRzBf16Fp32, "cvt.rz.bf16.f32");
ULPLAB_HALF_TO_FP32(CvtFp32Fp16, "cvt.f32.f16");
ULPLAB_TWO_HALVES(AddRnFp16, "add.rn.f16");
ULPLAB_TWO_HALVES(MulRnFp16, "mul.rn.f16");
ULPLAB_THREE_HALVES(FmaRnFp16, "fma.rn.f16");
ULPLAB_THREE_HALVES(FmaRnBf16, "fma.rn.bf16");

}  // namespace

std::span<const FunctionLauncher> function_launchers_sm80() {
    static constexpr FunctionLauncher table[] = {ULPLAB_HARDWARE_FUNCTIONS_SM80(ULPLAB_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
