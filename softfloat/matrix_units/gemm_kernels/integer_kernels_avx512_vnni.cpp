#include "softfloat/matrix_units/gemm_kernels/make_integer_kernels.hpp"
#include "softfloat/vector/vec_avx512_vnni.hpp"

namespace ulp::gemm_kernels {
constinit const IntegerKernels IntegerKernels::avx512_vnni = make_integer_kernels<vec::Avx512Vnni>();
}  // namespace ulp::gemm_kernels
