#include "engine/watching/kernels/exponent_kernels.hpp"
#include "softfloat/vector/vec_avx512.hpp"

namespace ulp {
constinit const ExponentKernels ExponentKernels::avx512 = make_kernels<vec::Avx512>();
}  // namespace ulp
