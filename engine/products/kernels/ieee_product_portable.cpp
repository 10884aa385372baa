#include "engine/products/kernels/ieee_kernels.hpp"
#include "softfloat/vector/vec_portable.hpp"

namespace ulp {
constinit const IeeeKernels IeeeKernels::portable = make_kernels<vec::Portable>("portable");
}  // namespace ulp
