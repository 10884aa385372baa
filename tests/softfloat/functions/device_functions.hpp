// The functions compiled for the GPU. Pointers are to device memory. Only for builds with CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "softfloat/context.hpp"

namespace ulp::test {

struct DeviceFunction {
    std::string_view name;
    void (*evaluate)(const float* in, float* out, std::size_t count);
};
std::span<const DeviceFunction> device_functions();

/// gelu(sin(x)) of fp16 in the given mode: both phases, the long reduction and the rounding function on the device.
void half_functions_on_device(const std::uint16_t* in, std::uint16_t* out, std::size_t count, Rounding rounding);

}  // namespace ulp::test
