// The kernels of AVX-512, alone and with the integer kernels of AVX512-VNNI.
#include "softfloat/matrix_units/gemm_kernels/make_kernels.hpp"
#include "softfloat/vector/vec_avx512.hpp"

namespace ulp::gemm_kernels {
constinit const Kernels Kernels::avx512 = make_kernels<vec::Avx512>("avx512", IntegerKernels::avx512);
constinit const Kernels Kernels::avx512_vnni = make_kernels<vec::Avx512>("avx512_vnni", IntegerKernels::avx512_vnni);
}  // namespace ulp::gemm_kernels
