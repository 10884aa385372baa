#include "engine/watching/kernels/exponent_kernels.hpp"
#include "softfloat/vector/vec_neon.hpp"

namespace ulp {
constinit const ExponentKernels ExponentKernels::neon = make_kernels<vec::Neon>();
}  // namespace ulp
