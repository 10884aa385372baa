#include "softfloat/array/kernels/function_kernel.hpp"
#include "softfloat/vector/vec_avx2.hpp"

namespace ulp::array {
constinit const FunctionKernels FunctionKernels::avx2 = make_function_kernels<vec::Avx2>();
}  // namespace ulp::array
