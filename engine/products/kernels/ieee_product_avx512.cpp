#include "engine/products/kernels/ieee_kernels.hpp"
#include "softfloat/vector/vec_avx512.hpp"

namespace ulp {
constinit const IeeeKernels IeeeKernels::avx512 = make_kernels<vec::Avx512>("AVX-512");
}  // namespace ulp
