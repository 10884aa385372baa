// Failures of CUDA calls as sentences. No CUDA needed, so that they can be tested anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ulp::gpu {

/// What failed and what to do about it: "cudaMalloc of 3 GiB failed: out of memory (cudaErrorMemoryAllocation); close
/// other programs on the GPU or use smaller sizes". `name` is cudaGetErrorName's, `text` cudaGetErrorString's.
std::string cuda_failure(std::string_view call, std::string_view name, std::string_view text);

/// Of an allocation: "cudaMalloc of 4096 bytes (1024 of 65536 free) failed: out of memory ...".
std::string memory_failure(std::uint64_t bytes, std::uint64_t free_bytes, std::uint64_t all_bytes);
/// Of a GPU that another program holds for itself alone.
std::string busy_failure(std::string_view call);

/// The sentence for a kernel that does not end.
std::string still_running(std::string_view what, double seconds);

/// The sentence where the program was built without CUDA.
std::string built_without_cuda();

}  // namespace ulp::gpu
