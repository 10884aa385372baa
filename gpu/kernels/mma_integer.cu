// mma.sync with 8-bit, 4-bit and 1-bit inputs.
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_integer_launchers() {
    static constexpr Launcher table[] = {ULPLAB_MMA_INTEGERS(ULPLAB_MMA_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
