// mma.sync with FP6 and FP4 inputs, and with block scales. Compiled for sm_120a only.
#include "gpu/instructions/mma_float.cuh"
#include "gpu/instructions/mma_scaled.cuh"
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm120_launchers() {
    static constexpr Launcher table[] = {
        {"mma.m16n8k32.e3m2.fp32", launch_warp_gemm<MmaK32E3m2Fp32>},
        {"mma.m16n8k32.e3m2.fp16", launch_warp_gemm<MmaK32E3m2Fp16>},
        {"mma.m16n8k32.e2m3.fp32", launch_warp_gemm<MmaK32E2m3Fp32>},
        {"mma.m16n8k32.e2m3.fp16", launch_warp_gemm<MmaK32E2m3Fp16>},
        {"mma.m16n8k32.e2m1.fp32", launch_warp_gemm<MmaK32E2m1Fp32>},
        {"mma.m16n8k32.e2m1.fp16", launch_warp_gemm<MmaK32E2m1Fp16>},
        {"mma.m16n8k32.mxf8f6f4.e4m3.fp32", launch_warp_gemm<MmaMxE4m3>},
        {"mma.m16n8k32.mxf8f6f4.e5m2.fp32", launch_warp_gemm<MmaMxE5m2>},
        {"mma.m16n8k32.mxf8f6f4.e3m2.fp32", launch_warp_gemm<MmaMxE3m2>},
        {"mma.m16n8k32.mxf8f6f4.e2m3.fp32", launch_warp_gemm<MmaMxE2m3>},
        {"mma.m16n8k32.mxf8f6f4.e2m1.fp32", launch_warp_gemm<MmaMxE2m1>},
        {"mma.m16n8k64.mxf4.e2m1.fp32", launch_warp_gemm<MmaMxf4>},
        {"mma.m16n8k64.nvf4.e2m1.fp32", launch_warp_gemm<MmaNvf4>},
    };
    return table;
}

}  // namespace ulp::gpu
