// The kernel of a run over the classes of fp16's fma. Only for sources built with CUDA.
#pragma once

#include <cstdint>

namespace ulp::gpu {

/// FmaAnswers as atomics on a GPU have them.
struct FmaOnDevice {
    unsigned long long digest, differ, first;
};

/// Adds to *answers. Errors of the launch are left to the caller.
void launch_fma_classes(std::uint64_t first, std::uint64_t count, FmaOnDevice* answers);

}  // namespace ulp::gpu
