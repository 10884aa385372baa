#include "gpu/devices/cuda_errors.hpp"

#include <fmt/format.h>

#include <array>

namespace ulp::gpu {
namespace {

struct Remedy {
    std::string_view error;
    std::string_view advice;
};

constexpr std::array remedies{
    Remedy{"cudaErrorNoDevice",
           "this machine has no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it; run it where there is one"},
    Remedy{"cudaErrorInsufficientDriver",
           "there is no NVIDIA driver, or it is older than the CUDA this program was built with; install a newer "
           "driver or build with an older CUDA toolkit"},
    Remedy{"cudaErrorSystemDriverMismatch",
           "the driver's parts are of different versions; reboot or reinstall the driver"},
    Remedy{"cudaErrorMemoryAllocation", "close other programs on the GPU or use smaller sizes"},
    Remedy{"cudaErrorNoKernelImageForDevice",
           "this program has no code for that GPU; add its architecture in gpu/CMakeLists.txt and build again"},
    Remedy{"cudaErrorUnsupportedPtxVersion", "the driver is older than the compiler; install a newer driver"},
    Remedy{"cudaErrorDevicesUnavailable",
           "another program holds the GPU exclusively, or its compute mode forbids use (nvidia-smi tells both); wait, "
           "or choose another GPU by CUDA_VISIBLE_DEVICES"},
    Remedy{"cudaErrorLaunchTimeout",
           "the kernel ran into the display's time limit; use a GPU without a display or smaller sizes"},
    Remedy{"cudaErrorIllegalAddress", "a kernel read or wrote outside its arrays; run compute-sanitizer and report it"},
    Remedy{"cudaErrorLaunchFailure", "a kernel broke off; run compute-sanitizer and report it"},
    Remedy{"cudaErrorECCUncorrectable", "the GPU's memory has a fault; use another GPU"},
};

}  // namespace

std::string cuda_failure(std::string_view call, std::string_view name, std::string_view text) {
    std::string_view advice = "see the CUDA documentation of that error";
    for (const Remedy& remedy : remedies) {
        if (remedy.error == name) advice = remedy.advice;
    }
    return fmt::format("{} failed: {} ({}); {}", call, text, name, advice);
}

std::string memory_failure(std::uint64_t bytes, std::uint64_t free_bytes, std::uint64_t all_bytes) {
    return cuda_failure(fmt::format("cudaMalloc of {} bytes ({} of {} free)", bytes, free_bytes, all_bytes),
                        "cudaErrorMemoryAllocation", "out of memory");
}

std::string busy_failure(std::string_view call) {
    return cuda_failure(call, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable");
}

std::string still_running(std::string_view what, double seconds) {
    return fmt::format(
        "{} has not ended after {:g} s and is given up; what was found until then is kept in --out; see with "
        "nvidia-smi whether others use the GPU, and run compute-sanitizer if not",
        what, seconds);
}

std::string built_without_cuda() {
    return "this ulplab was built without CUDA; configure with -DULPLAB_GPU=ON where nvcc 12 or newer is installed, "
           "and build again";
}

}  // namespace ulp::gpu
