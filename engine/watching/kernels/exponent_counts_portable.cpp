#include "engine/watching/kernels/exponent_kernels.hpp"
#include "softfloat/vector/vec_portable.hpp"

namespace ulp {
constinit const ExponentKernels ExponentKernels::portable = make_kernels<vec::Portable>();
}  // namespace ulp
