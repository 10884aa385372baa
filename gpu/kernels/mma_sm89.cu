// mma.sync with FP8 inputs: native on sm_89 and sm_120, two fp16 instructions and an addition on sm_90 and sm_100.
// Compiled for sm_89 and later only.
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm89_launchers() {
    static constexpr Launcher table[] = {ULPLAB_MMA_FP8(ULPLAB_MMA_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
