#include "engine/products/kernels/ieee_kernels.hpp"
#include "softfloat/vector/vec_avx2.hpp"

namespace ulp {
constinit const IeeeKernels IeeeKernels::avx2 = make_kernels<vec::Avx2>("AVX2");
}  // namespace ulp
