#include "softfloat/array/kernels/function_kernel.hpp"
#include "softfloat/vector/vec_portable.hpp"

namespace ulp::array {
constinit const FunctionKernels FunctionKernels::portable = make_function_kernels<vec::Portable>();
}  // namespace ulp::array
