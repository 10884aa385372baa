// Failures of CUDA calls as sentences. No CUDA needed, so that they can be tested anywhere.
#pragma once

#include <string>
#include <string_view>

namespace ulp::gpu {

/// What failed and what to do about it: "cudaMalloc of 3 GiB failed: out of memory (cudaErrorMemoryAllocation); close
/// other programs on the GPU or use smaller sizes". `name` is cudaGetErrorName's, `text` cudaGetErrorString's.
std::string cuda_failure(std::string_view call, std::string_view name, std::string_view text);

/// The sentence for a kernel that does not end.
std::string still_running(std::string_view what, double seconds);

/// The sentence where the program was built without CUDA.
std::string built_without_cuda();

}  // namespace ulp::gpu
