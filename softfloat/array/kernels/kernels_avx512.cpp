#include "softfloat/array/kernels/kernels.hpp"
#include "softfloat/vector/lanes_avx512.hpp"

namespace ulp::array {
constexpr KernelTable avx512_kernels = make_kernels<Avx512>();
}  // namespace ulp::array
