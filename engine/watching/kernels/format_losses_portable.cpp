#include "engine/watching/kernels/loss_kernels.hpp"
#include "softfloat/vector/vec_portable.hpp"

namespace ulp {
constinit const LossKernels LossKernels::portable = make_loss_kernels<vec::Portable>();
}  // namespace ulp
