// mma.sync with FP8 inputs: native on sm_89 and sm_120, two fp16 instructions and an addition on sm_90 and sm_100.
// Compiled for sm_89 and later only.
#include "gpu/instructions/mma_float.cuh"
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm89_launchers() {
#define ULPLAB_ROWS(A, B, name)                                                 \
    {"mma.m16n8k16." name ".fp32", launch_warp_gemm<MmaK16##A##B##Fp32>},       \
        {"mma.m16n8k16." name ".fp16", launch_warp_gemm<MmaK16##A##B##Fp16>},   \
        {"mma.m16n8k32." name ".fp32", launch_warp_gemm<MmaK32##A##B##Fp32>}, { \
        "mma.m16n8k32." name ".fp16", launch_warp_gemm<MmaK32##A##B##Fp16>      \
    }
    static constexpr Launcher table[] = {ULPLAB_ROWS(E4m3, E4m3, "e4m3"), ULPLAB_ROWS(E4m3, E5m2, "e4m3_e5m2"),
                                         ULPLAB_ROWS(E5m2, E4m3, "e5m2_e4m3"), ULPLAB_ROWS(E5m2, E5m2, "e5m2")};
#undef ULPLAB_ROWS
    return table;
}

}  // namespace ulp::gpu
