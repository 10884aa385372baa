// softfloat in device code: compiling this is the test. Formats are template arguments there, since a namespace-scope
// constexpr object has no address on the GPU.
#include "softfloat/float.hpp"

namespace {

template <class Type>
__device__ Type every_operation(Type x, Type y) {
    ulp::Context context{.rounding = ulp::Rounding::up};
    Type sum = fma(x, y, x + y) - remainder(x, y, context) / sqrt(abs(x), context);
    sum += round_to_integral(y) * scalb(x, 3) + logb(y) + next_up(x) + next_down(y);
    sum += minimum(x, y, context) + maximum(x, y, context) + Type{static_cast<int>(y)};
    return x < y && classify(x) == ulp::NumberClass::positive_normal ? sum : -sum;
}

}  // namespace

__global__ void every_operation_on(const unsigned short* a, const unsigned short* b, unsigned short* c, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count) return;
    const auto x = ulp::fp16::from_bits(a[i]);
    const auto y = ulp::fp16::from_bits(b[i]);
    const auto narrow = every_operation(ulp::e4m3(x), ulp::e4m3(y));
    const auto wide = every_operation(ulp::fp32(x), ulp::fp32(ulp::bf16(y)));
    c[i] = (every_operation(x, y) + ulp::fp16(narrow) + ulp::fp16(wide)).bits();
}
