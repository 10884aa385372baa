// Asks the functions of the first CUDA device.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "gpu/devices/cuda_check.hpp"
#include "gpu/untried/function_kernels.hpp"
#include "gpu/untried/functions.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
namespace {

const FunctionLauncher& launcher_of(const HardwareFunction& function) {
    for (const auto launchers : {function_launchers_sm80(), function_launchers_sm90(), function_launchers_sm100(),
                                 function_launchers_sm100_only()}) {
        for (const FunctionLauncher& launcher : launchers) {
            if (launcher.name == function.name) return launcher;
        }
    }
    throw UsageError(fmt::format("{} is not in this program: its nvcc is older than CUDA 12.8; build with a newer one",
                                 function.name));
}

}  // namespace

FunctionAnswers ask_function_on_cuda(const HardwareFunction& function, std::uint32_t first, std::uint64_t count,
                                     bool keep) {
    const FunctionLauncher& launcher = launcher_of(function);
    AnswersOnDevice answers{0, 0, 0, ~0ULL};
    const DeviceArray<AnswersOnDevice> memory{std::span<const AnswersOnDevice>(&answers, 1)};
    const DeviceArray<std::uint32_t> results(keep ? count : 0);  // null where nothing is kept
    launcher.launch(first, count, memory.data(), results.data());
    check_launch(function.name);
    synchronise(function.name);
    memory.download(std::span<AnswersOnDevice>(&answers, 1));
    std::vector<std::uint32_t> kept(results.size());
    results.download(std::span<std::uint32_t>(kept));
    return {answers.digest, answers.differ, answers.differ_nan, answers.first, std::move(kept)};
}

}  // namespace ulp::gpu
