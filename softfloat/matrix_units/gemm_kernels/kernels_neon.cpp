// The kernels of products for the vectors of 64-bit ARM.
#include "softfloat/matrix_units/gemm_kernels/make_kernels.hpp"
#include "softfloat/vector/vec_neon.hpp"

namespace ulp::gemm_kernels {
constinit const Kernels Kernels::neon = make_kernels<vec::Neon>("neon");
}
