// mma.sync with FP6 and FP4 inputs, and with block scales. Compiled for sm_120a only.
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm120_launchers() {
    static constexpr Launcher table[] = {ULPLAB_MMA_NARROW(ULPLAB_MMA_LAUNCHER) ULPLAB_MMA_SCALED(ULPLAB_MMA_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
