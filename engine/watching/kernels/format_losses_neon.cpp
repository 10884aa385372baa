#include "engine/watching/kernels/loss_kernels.hpp"
#include "softfloat/vector/vec_neon.hpp"

namespace ulp {
constinit const LossKernels LossKernels::neon = make_loss_kernels<vec::Neon>();
}  // namespace ulp
