// mma.sync with fp16, bf16, tf32 and fp64 inputs: the instructions that exist from sm_80.
#include "gpu/instructions/mma_float.cuh"
#include "gpu/instructions/mma_fp64.cuh"
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm80_launchers() {
    static constexpr Launcher table[] = {
        {"mma.m16n8k8.fp16.fp32", launch_warp_gemm<MmaK8Fp16Fp32>},
        {"mma.m16n8k8.fp16.fp16", launch_warp_gemm<MmaK8Fp16Fp16>},
        {"mma.m16n8k8.bf16.fp32", launch_warp_gemm<MmaK8Bf16Fp32>},
        {"mma.m16n8k16.fp16.fp32", launch_warp_gemm<MmaK16Fp16Fp32>},
        {"mma.m16n8k16.fp16.fp16", launch_warp_gemm<MmaK16Fp16Fp16>},
        {"mma.m16n8k16.bf16.fp32", launch_warp_gemm<MmaK16Bf16Fp32>},
        {"mma.m16n8k4.tf32.fp32", launch_warp_gemm<MmaK4Tf32Fp32>},
        {"mma.m16n8k8.tf32.fp32", launch_warp_gemm<MmaK8Tf32Fp32>},
        {"mma.m8n8k4.fp64.fp64", launch_warp_gemm<MmaM8N8K4Fp64>},
    };
    return table;
}

}  // namespace ulp::gpu
