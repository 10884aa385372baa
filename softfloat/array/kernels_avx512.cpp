#include "softfloat/array/kernels.hpp"
#include "softfloat/array/lanes_avx512.hpp"

namespace ulp::array {
constexpr KernelTable avx512_kernels = make_kernels<Avx512>();
}  // namespace ulp::array
