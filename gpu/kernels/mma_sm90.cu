// mma.sync with fp64 and m = 16: the instructions that exist from sm_90. Compiled for sm_90 and later only.
#include "gpu/instructions/mma_fp64.cuh"
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm90_launchers() {
    static constexpr Launcher table[] = {
        {"mma.m16n8k4.fp64.fp64", launch_warp_gemm<MmaM16N8K4Fp64>},
        {"mma.m16n8k8.fp64.fp64", launch_warp_gemm<MmaM16N8K8Fp64>},
        {"mma.m16n8k16.fp64.fp64", launch_warp_gemm<MmaM16N8K16Fp64>},
    };
    return table;
}

}  // namespace ulp::gpu
