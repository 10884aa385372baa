#include "softfloat/functions/functions.hpp"
#include "softfloat/functions/pinned.hpp"
#include "tests/softfloat/functions/device_functions.hpp"

namespace ulp::test {

namespace {

__device__ std::size_t thread_index() { return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
unsigned blocks_of_256(std::size_t count) { return static_cast<unsigned>((count + 255) / 256); }

template <class Function>
__global__ void pinned_kernel(const float* in, float* out, std::size_t count) {
    const std::size_t i = thread_index();
    if (i < count) out[i] = evaluate_pinned<Function>(in[i]);
}
template <class Function>
void launch_pinned(const float* in, float* out, std::size_t count) {
    pinned_kernel<Function><<<blocks_of_256(count), 256>>>(in, out, count);
}

__global__ void half_kernel(const std::uint16_t* in, std::uint16_t* out, std::size_t count, Rounding rounding) {
    const std::size_t i = thread_index();
    if (i >= count) return;
    Context context{.rounding = rounding};
    out[i] = gelu(sin(fp16::from_bits(in[i]), context), context).bits();
}

using namespace functions;
const DeviceFunction table[] = {
    {"exp", launch_pinned<Exp>},           {"exp2", launch_pinned<Exp2>},   {"expm1", launch_pinned<Expm1>},
    {"log", launch_pinned<Log>},           {"log2", launch_pinned<Log2>},   {"log1p", launch_pinned<Log1p>},
    {"sin", launch_pinned<Sin>},           {"cos", launch_pinned<Cos>},     {"tanh", launch_pinned<Tanh>},
    {"sigmoid", launch_pinned<Sigmoid>},   {"erf", launch_pinned<Erf>},     {"gelu", launch_pinned<Gelu>},
    {"softplus", launch_pinned<Softplus>}, {"rsqrt", launch_pinned<Rsqrt>}, {"cbrt", launch_pinned<Cbrt>}};

}  // namespace

std::span<const DeviceFunction> device_functions() { return table; }

void half_functions_on_device(const std::uint16_t* in, std::uint16_t* out, std::size_t count, Rounding rounding) {
    half_kernel<<<blocks_of_256(count), 256>>>(in, out, count, rounding);
}

}  // namespace ulp::test
