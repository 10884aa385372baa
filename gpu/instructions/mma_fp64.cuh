// mma.sync with fp64 inputs and accumulator: m8n8k4 from sm_80, m16n8k4, k8 and k16 from sm_90.
#pragma once

#include "gpu/instructions/warp_tile.cuh"

namespace ulp::gpu {

inline __device__ double as_double(std::uint64_t bits) { return __longlong_as_double(static_cast<long long>(bits)); }
inline __device__ std::uint64_t as_bits(double x) { return static_cast<std::uint64_t>(__double_as_longlong(x)); }

/// mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
struct MmaM8N8K4Fp64 : WarpTile<8, 8, 4, 64, 64> {
    static __device__ void apply(Word (&d)[2], const Word (&a)[1], const Word (&b)[1]) {
        double x = as_double(d[0]);
        double y = as_double(d[1]);
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(x), "+d"(y)
                     : "d"(as_double(a[0])), "d"(as_double(b[0])));
        d[0] = as_bits(x);
        d[1] = as_bits(y);
    }
};

#define ULPLAB_MMA_FP64(Name, K, PTX, OPERANDS, ...)                                                  \
    struct Name : WarpTile<16, 8, K, 64, 64> {                                                        \
        static __device__ void apply(Word (&d)[4], const Word (&a)[K / 2], const Word (&b)[K / 4]) {  \
            double f[4] = {as_double(d[0]), as_double(d[1]), as_double(d[2]), as_double(d[3])};       \
            asm volatile("mma.sync.aligned." PTX " {%0, %1, %2, %3}, " OPERANDS ", {%0, %1, %2, %3};" \
                         : "+d"(f[0]), "+d"(f[1]), "+d"(f[2]), "+d"(f[3])                             \
                         : __VA_ARGS__);                                                              \
            for (int i = 0; i < 4; ++i) d[i] = as_bits(f[i]);                                         \
        }                                                                                             \
    }
#define ULPLAB_D(x) "d"(as_double(x))
ULPLAB_MMA_FP64(MmaM16N8K4Fp64, 4, "m16n8k4.row.col.f64.f64.f64.f64", "{%4, %5}, {%6}", ULPLAB_D(a[0]), ULPLAB_D(a[1]),
                ULPLAB_D(b[0]));
ULPLAB_MMA_FP64(MmaM16N8K8Fp64, 8, "m16n8k8.row.col.f64.f64.f64.f64", "{%4, %5, %6, %7}, {%8, %9}", ULPLAB_D(a[0]),
                ULPLAB_D(a[1]), ULPLAB_D(a[2]), ULPLAB_D(a[3]), ULPLAB_D(b[0]), ULPLAB_D(b[1]));
ULPLAB_MMA_FP64(MmaM16N8K16Fp64, 16, "m16n8k16.row.col.f64.f64.f64.f64",
                "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}", ULPLAB_D(a[0]), ULPLAB_D(a[1]),
                ULPLAB_D(a[2]), ULPLAB_D(a[3]), ULPLAB_D(a[4]), ULPLAB_D(a[5]), ULPLAB_D(a[6]), ULPLAB_D(a[7]),
                ULPLAB_D(b[0]), ULPLAB_D(b[1]), ULPLAB_D(b[2]), ULPLAB_D(b[3]));
#undef ULPLAB_D
#undef ULPLAB_MMA_FP64

}  // namespace ulp::gpu
