#include "softfloat/array/kernels/function_kernel.hpp"
#include "softfloat/vector/vec_neon.hpp"

namespace ulp::array {
constinit const FunctionKernels FunctionKernels::neon = make_function_kernels<vec::Neon>();
}  // namespace ulp::array
