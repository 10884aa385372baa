// mma.sync with fp64 and m = 16: the instructions that exist from sm_90. Compiled for sm_90 and later only.
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm90_launchers() {
    static constexpr Launcher table[] = {ULPLAB_MMA_FP64_M16(ULPLAB_MMA_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
