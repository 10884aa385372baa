#include "engine/watching/kernels/loss_kernels.hpp"
#include "softfloat/vector/vec_avx512.hpp"

namespace ulp {
constinit const LossKernels LossKernels::avx512 = make_loss_kernels<vec::Avx512>();
}  // namespace ulp
