#include "gpu/functions/function_kernel.cuh"
#include "gpu/functions/function_list.hpp"

namespace ulp::gpu {
namespace {

ULPLAB_HALF_TO_HALF(Ex2Bf16, "ex2.approx.ftz.bf16");
ULPLAB_HALF_TO_HALF(TanhBf16, "tanh.approx.bf16");
ULPLAB_FP32_TO_PAIR(CvtE4m3Fp32, "cvt.rn.satfinite.e4m3x2.f32");
ULPLAB_FP32_TO_PAIR(CvtE5m2Fp32, "cvt.rn.satfinite.e5m2x2.f32");
ULPLAB_HALVES_TO_PAIR(CvtE4m3Fp16, "cvt.rn.satfinite.e4m3x2.f16x2");
ULPLAB_HALVES_TO_PAIR(CvtE5m2Fp16, "cvt.rn.satfinite.e5m2x2.f16x2");
ULPLAB_TWO_HALVES(AddRnBf16, "add.rn.bf16");
ULPLAB_TWO_HALVES(MulRnBf16, "mul.rn.bf16");

}  // namespace

std::span<const FunctionLauncher> function_launchers_sm90() {
    static constexpr FunctionLauncher table[] = {ULPLAB_HARDWARE_FUNCTIONS_SM90(ULPLAB_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
