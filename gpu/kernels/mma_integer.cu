// mma.sync with 8-bit, 4-bit and 1-bit inputs.
#include "gpu/instructions/mma_integer.cuh"
#include "gpu/kernels/warp_gemm.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_integer_launchers() {
#define ULPLAB_ROWS(A, B, name, K1, K2)                                                        \
    {"mma.m8n8k" #K1 "." name ".s32", launch_warp_gemm<MmaM8K##K1##A##B>},                     \
        {"mma.m16n8k" #K1 "." name ".s32", launch_warp_gemm<MmaK##K1##A##B>},                  \
        {"mma.m16n8k" #K2 "." name ".s32", launch_warp_gemm<MmaK##K2##A##B>},                  \
        {"mma.m8n8k" #K1 "." name ".s32.satfinite", launch_warp_gemm<MmaM8K##K1##A##B##Sat>},  \
        {"mma.m16n8k" #K1 "." name ".s32.satfinite", launch_warp_gemm<MmaK##K1##A##B##Sat>}, { \
        "mma.m16n8k" #K2 "." name ".s32.satfinite", launch_warp_gemm<MmaK##K2##A##B##Sat>      \
    }
    static constexpr Launcher table[] = {
        ULPLAB_ROWS(S8, S8, "s8", 16, 32),
        ULPLAB_ROWS(S8, U8, "s8_u8", 16, 32),
        ULPLAB_ROWS(U8, S8, "u8_s8", 16, 32),
        ULPLAB_ROWS(U8, U8, "u8", 16, 32),
        ULPLAB_ROWS(S4, S4, "s4", 32, 64),
        ULPLAB_ROWS(S4, U4, "s4_u4", 32, 64),
        ULPLAB_ROWS(U4, S4, "u4_s4", 32, 64),
        ULPLAB_ROWS(U4, U4, "u4", 32, 64),
        {"mma.m8n8k128.b1_xor.s32", launch_warp_gemm<MmaM8K128Xor>},
        {"mma.m16n8k128.b1_xor.s32", launch_warp_gemm<MmaK128Xor>},
        {"mma.m16n8k256.b1_xor.s32", launch_warp_gemm<MmaK256Xor>},
        {"mma.m8n8k128.b1_and.s32", launch_warp_gemm<MmaM8K128And>},
        {"mma.m16n8k128.b1_and.s32", launch_warp_gemm<MmaK128And>},
        {"mma.m16n8k256.b1_and.s32", launch_warp_gemm<MmaK256And>},
    };
#undef ULPLAB_ROWS
    return table;
}

}  // namespace ulp::gpu
