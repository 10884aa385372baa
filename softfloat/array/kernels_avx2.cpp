#include "softfloat/array/kernels.hpp"
#include "softfloat/array/lanes_avx2.hpp"

namespace ulp::array {
constexpr KernelTable avx2_kernels = make_kernels<Avx2>();
}  // namespace ulp::array
