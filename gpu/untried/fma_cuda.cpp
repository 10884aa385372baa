// Asks the first CUDA device for classes of fp16's fma.
#include "gpu/devices/cuda_check.hpp"
#include "gpu/untried/fma_run.hpp"
#include "gpu/untried/function_kernels.hpp"

namespace ulp::gpu {

FmaAnswers ask_fma_on_cuda(std::uint64_t first, std::uint64_t count) {
    FmaOnDevice answers{0, 0, ~0ULL};
    const DeviceArray<FmaOnDevice> memory{std::span<const FmaOnDevice>(&answers, 1)};
    launch_fma_classes(first, count, memory.data());
    check_launch("fma.rn.f16");
    synchronise("fma.rn.f16");
    memory.download(std::span<FmaOnDevice>(&answers, 1));
    return {answers.digest, answers.differ, answers.first};
}

}  // namespace ulp::gpu
