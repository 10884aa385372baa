#include "softfloat/matrix_units/fast/dispatch.hpp"

namespace ulp::fast {

const Kernels& kernels_of(Simd simd) {
#if defined(__x86_64__)
    if (simd >= Simd::avx512) return avx512_kernels;
    if (simd == Simd::avx2) return avx2_kernels;
#else
    (void)simd;
#endif
    return portable_kernels;
}

}  // namespace ulp::fast
