// The kernels of products for AVX-512 (F, BW, DQ, VL). Compiled with its own flags (ulplab_simd_source).
#include "softfloat/matrix_units/gemm_kernels/make_kernels.hpp"
#include "softfloat/vector/vec_avx512.hpp"

namespace ulp::gemm_kernels {
constinit const Kernels Kernels::avx512 = make_kernels<vec::Avx512>("avx512");
}
