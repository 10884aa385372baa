// mma.sync with fp16, bf16, tf32 and fp64 inputs: the instructions that exist from sm_80.
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm80_launchers() {
    static constexpr Launcher table[] = {ULPLAB_MMA_FLOATS(ULPLAB_MMA_LAUNCHER)
                                             ULPLAB_MMA_FP64_M8(ULPLAB_MMA_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
