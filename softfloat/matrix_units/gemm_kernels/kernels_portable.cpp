// The kernels of products for any processor.
#include "softfloat/matrix_units/gemm_kernels/make_kernels.hpp"
#include "softfloat/vector/vec_portable.hpp"

namespace ulp::gemm_kernels {
constinit const Kernels Kernels::portable = make_kernels<vec::Portable>("portable");
}
