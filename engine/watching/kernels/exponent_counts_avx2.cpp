#include "engine/watching/kernels/exponent_kernels.hpp"
#include "softfloat/vector/vec_avx2.hpp"

namespace ulp {
constinit const ExponentKernels ExponentKernels::avx2 = make_kernels<vec::Avx2>();
}  // namespace ulp
