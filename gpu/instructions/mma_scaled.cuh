// mma.sync of sm_120a with block scales (PTX ISA 9.0). The selectors {byte-id, thread-id} are 0:
// which lanes supply the scales is then as gpu/instructions/fragment_layout.hpp says.
#pragma once

#include "gpu/instructions/warp_tile.cuh"

namespace ulp::gpu {

#define ULPLAB_MMA_SCALED(Name, K, BITS, SCALES, PTX)                                                                  \
    struct Name : WarpTile<16, 8, K, BITS, 32> {                                                                       \
        static constexpr int scales = SCALES;                                                                          \
        static __device__ void apply(Word (&d)[4], const Word (&a)[4], const Word (&b)[2], Word a_scales,              \
                                     Word b_scales) {                                                                  \
            float f[4] = {__uint_as_float(d[0]), __uint_as_float(d[1]), __uint_as_float(d[2]), __uint_as_float(d[3])}; \
            asm volatile("mma.sync.aligned." PTX                                                                       \
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {0, 0}, %11, {0, 0};"  \
                         : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),            \
                           "r"(b_scales));                                                                             \
            for (int i = 0; i < 4; ++i) d[i] = __float_as_uint(f[i]);                                                  \
        }                                                                                                              \
    }
#define ULPLAB_MMA_MX(E, e)               \
    ULPLAB_MMA_SCALED(MmaMx##E, 32, 8, 1, \
                      "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32." e "." e ".f32.ue8m0")

ULPLAB_MMA_MX(E4m3, "e4m3");
ULPLAB_MMA_MX(E5m2, "e5m2");
ULPLAB_MMA_MX(E3m2, "e3m2");
ULPLAB_MMA_MX(E2m3, "e2m3");
ULPLAB_MMA_MX(E2m1, "e2m1");
ULPLAB_MMA_SCALED(MmaMxf4, 64, 4, 2, "kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0");
ULPLAB_MMA_SCALED(MmaNvf4, 64, 4, 4,
                  "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3");

#undef ULPLAB_MMA_MX
#undef ULPLAB_MMA_SCALED

}  // namespace ulp::gpu
