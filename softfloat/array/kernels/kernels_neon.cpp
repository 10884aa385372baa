#include "softfloat/array/kernels/kernels.hpp"
#include "softfloat/vector/vec_neon.hpp"

namespace ulp::array {
constinit const KernelTable KernelTable::neon = make_kernels<vec::Neon>();
}  // namespace ulp::array
