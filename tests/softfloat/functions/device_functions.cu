#include "softfloat/functions/cr.hpp"
#include "softfloat/functions/functions.hpp"
#include "tests/softfloat/functions/device_functions.hpp"

namespace ulp::test {

namespace {

__device__ std::size_t thread_index() { return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
unsigned blocks_of_256(std::size_t count) { return static_cast<unsigned>((count + 255) / 256); }

template <class Function>
__global__ void fp32_kernel(const float* in, float* out, std::size_t count) {
    const std::size_t i = thread_index();
    if (i < count) out[i] = evaluate_fp32<Function>(in[i]);
}
template <class Function>
void launch(const float* in, float* out, std::size_t count) {
    fp32_kernel<Function><<<blocks_of_256(count), 256>>>(in, out, count);
}

__global__ void half_kernel(const std::uint16_t* in, std::uint16_t* out, std::size_t count, Rounding rounding) {
    const std::size_t i = thread_index();
    if (i >= count) return;
    Context context{.rounding = rounding};
    out[i] = gelu(sin(fp16::from_bits(in[i]), context), context).bits();
}

#define ULPLAB_FUNCTION(name, Function) {#name, launch<functions::Function>},
const DeviceFunction table[] = {ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)};
#undef ULPLAB_FUNCTION

}  // namespace

std::span<const DeviceFunction> device_functions() { return table; }

void half_functions_on_device(const std::uint16_t* in, std::uint16_t* out, std::size_t count, Rounding rounding) {
    half_kernel<<<blocks_of_256(count), 256>>>(in, out, count, rounding);
}

}  // namespace ulp::test
