#include "softfloat/array/kernels/kernels.hpp"
#include "softfloat/vector/vec_avx2.hpp"

namespace ulp::array {
constinit const KernelTable KernelTable::avx2 = make_kernels<vec::Avx2>();
}  // namespace ulp::array
