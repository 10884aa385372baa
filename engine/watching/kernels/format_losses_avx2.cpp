#include "engine/watching/kernels/loss_kernels.hpp"
#include "softfloat/vector/vec_avx2.hpp"

namespace ulp {
constinit const LossKernels LossKernels::avx2 = make_loss_kernels<vec::Avx2>();
}  // namespace ulp
