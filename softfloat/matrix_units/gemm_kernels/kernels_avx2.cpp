// The kernels of products for AVX2, FMA and F16C. Compiled with its own flags (ulplab_simd_source).
#include "softfloat/matrix_units/gemm_kernels/make_kernels.hpp"
#include "softfloat/vector/vec_avx2.hpp"

namespace ulp::gemm_kernels {
constinit const Kernels Kernels::avx2 = make_kernels<vec::Avx2>("avx2");
}
