// Asks the functions of the first CUDA device.
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "gpu/devices/device_memory.hpp"
#include "gpu/functions/function_kernels.hpp"
#include "gpu/functions/functions.hpp"

namespace ulp::gpu {
namespace {

const FunctionLauncher& launcher_of(const HardwareFunction& function) {
    for (const auto launchers : {function_launchers_sm80(), function_launchers_sm90()}) {
        for (const FunctionLauncher& launcher : launchers) {
            if (launcher.name == function.name) return launcher;
        }
    }
    throw std::logic_error(fmt::format("function {} has no kernel", function.name));
}

}  // namespace

FunctionAnswers ask_function_on_cuda(const HardwareFunction& function, std::uint32_t first, std::uint64_t count) {
    const FunctionLauncher& launcher = launcher_of(function);
    AnswersOnDevice answers{0, 0, 0, ~0ULL};
    const DeviceArray<AnswersOnDevice> memory{std::span<const AnswersOnDevice>(&answers, 1)};
    launcher.launch(first, count, memory.data());
    check_launch(function.name);
    check(cudaDeviceSynchronize(), fmt::format("cudaDeviceSynchronize after {}", function.name));
    memory.download(std::span<AnswersOnDevice>(&answers, 1));
    return {answers.digest, answers.differ, answers.differ_nan, answers.first};
}

}  // namespace ulp::gpu
