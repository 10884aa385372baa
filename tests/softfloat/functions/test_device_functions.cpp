// The functions on the GPU give the bits they give on the CPU. That they compile for it shows on any machine with nvcc.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <iostream>

#include "gpu/devices/cuda_check.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/functions/device_functions.hpp"
#include "tests/softfloat/functions/functions_under_test.hpp"

namespace ulp::test {
namespace {

bool has_gpu() {
    int count = 0;
    const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
    if (!found) std::cout << "skipped: no usable GPU\n";
    static_cast<void>(cudaGetLastError());
    return found;
}

TEST_CASE("the fp32 functions on the GPU equal those on the CPU: a million fp32 operands each") {
    if (!has_gpu()) return;
    RandomWords random(21);
    std::vector<float> in;
    for (const std::uint64_t code : interesting_codes(formats::fp32)) {
        in.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
    }
    while (in.size() < 1000000) {
        const auto word = static_cast<std::uint32_t>(random.next());
        const bool any = in.size() % 2 == 0;
        in.push_back(any ? std::bit_cast<float>(word) : static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-26F);
    }
    const gpu::DeviceArray<float> device_in{std::span<const float>(in)};
    const gpu::DeviceArray<float> device_out(in.size());
    std::vector<float> out(in.size());
    REQUIRE(device_functions().size() == std::size(functions_under_test));
    for (std::size_t f = 0; f < std::size(functions_under_test); ++f) {
        const FunctionUnderTest& function = functions_under_test[f];
        REQUIRE(function.name == device_functions()[f].name);
        device_functions()[f].evaluate(device_in.data(), device_out.data(), in.size());
        gpu::check_launch(function.name);
        device_out.download(out);
        int wrong = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            if (std::bit_cast<std::uint32_t>(out[i]) != std::bit_cast<std::uint32_t>(function.cr(in[i]))) ++wrong;
        }
        INFO(function.name);
        CHECK(wrong == 0);
    }
}

TEST_CASE("fp16 functions on the GPU equal those on the CPU: every code in every mode") {
    if (!has_gpu()) return;
    std::vector<std::uint16_t> in;
    for (const std::uint64_t code : all_codes(formats::fp16)) in.push_back(static_cast<std::uint16_t>(code));
    const gpu::DeviceArray<std::uint16_t> device_in{std::span<const std::uint16_t>(in)};
    const gpu::DeviceArray<std::uint16_t> device_out(in.size());
    std::vector<std::uint16_t> out(in.size());
    for (const Rounding rounding : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero,
                                    Rounding::down, Rounding::up, Rounding::odd}) {
        half_functions_on_device(device_in.data(), device_out.data(), in.size(), rounding);
        gpu::check_launch("half_functions_on_device");
        device_out.download(out);
        int wrong = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            Context context{.rounding = rounding};
            if (out[i] != gelu(sin(fp16::from_bits(in[i]), context), context).bits()) ++wrong;
        }
        CHECK(wrong == 0);
    }
}

}  // namespace
}  // namespace ulp::test
