#include "engine/products/kernels/ieee_kernels.hpp"
#include "softfloat/vector/vec_neon.hpp"

namespace ulp {
constinit const IeeeKernels IeeeKernels::neon = make_kernels<vec::Neon>("NEON");
}  // namespace ulp
