#include "softfloat/array/kernels.hpp"
#include "softfloat/array/lanes_portable.hpp"

namespace ulp::array {
constexpr KernelTable portable_kernels = make_kernels<Portable>();
}  // namespace ulp::array
