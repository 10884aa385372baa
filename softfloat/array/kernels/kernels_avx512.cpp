#include "softfloat/array/kernels/kernels.hpp"
#include "softfloat/vector/vec_avx512.hpp"

namespace ulp::array {
constinit const KernelTable KernelTable::avx512 = make_kernels<vec::Avx512>();
}  // namespace ulp::array
