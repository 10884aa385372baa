#include "softfloat/array/kernels/kernels.hpp"
#include "softfloat/vector/lanes_avx2.hpp"

namespace ulp::array {
constexpr KernelTable avx2_kernels = make_kernels<Avx2>();
}  // namespace ulp::array
