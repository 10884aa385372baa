// How the functions' kernels are found by name. Only for sources built with CUDA.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ulp::gpu {

/// FunctionAnswers as atomics on a GPU have them.
struct AnswersOnDevice {
    unsigned long long digest, differ, differ_nan, first;
};

struct FunctionLauncher {
    std::string_view name;
    /// Adds to *answers; writes each result to results[operand - first] unless that is null. Errors of the launch are
    /// left to the caller.
    void (*launch)(std::uint32_t first, std::uint64_t count, AnswersOnDevice* answers, std::uint32_t* results);
};

std::span<const FunctionLauncher> function_launchers_sm80();
std::span<const FunctionLauncher> function_launchers_sm90();
/// Empty where the compiler does not know sm_100a.
std::span<const FunctionLauncher> function_launchers_sm100();
std::span<const FunctionLauncher> function_launchers_sm100_only();

// The kernel of a run over the classes of fp16's fma. Only for sources built with CUDA.

/// FmaAnswers as atomics on a GPU have them.
struct FmaOnDevice {
    unsigned long long digest, differ, first;
};

/// Adds to *answers. Errors of the launch are left to the caller.
void launch_fma_classes(std::uint64_t first, std::uint64_t count, FmaOnDevice* answers);

}  // namespace ulp::gpu
