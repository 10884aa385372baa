#include "softfloat/array/kernels/function_kernel.hpp"
#include "softfloat/vector/vec_avx512.hpp"

namespace ulp::array {
constinit const FunctionKernels FunctionKernels::avx512 = make_function_kernels<vec::Avx512>();
}  // namespace ulp::array
