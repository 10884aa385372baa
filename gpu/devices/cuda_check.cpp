#include "gpu/devices/cuda_check.hpp"

#include <fmt/format.h>

#include "gpu/devices/cuda_errors.hpp"
#include "gpu/devices/waiting.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

void check(cudaError_t status, std::string_view call) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    throw DataError(cuda_failure(call, cudaGetErrorName(status), cudaGetErrorString(status)));
}

void* allocated(std::size_t bytes) {
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes);
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    if (status == cudaErrorMemoryAllocation && cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        throw DataError(memory_failure(bytes, free_bytes, all_bytes));
    }
    check(status, fmt::format("cudaMalloc of {} bytes", bytes));
    return memory;
}

namespace {
bool gave_up = false;
}  // namespace

bool gave_up_waiting() { return gave_up; }

void synchronise(std::string_view after) {
    constexpr double most_seconds = 120;
    cudaError_t status = cudaSuccess;
    const auto done = [&] {
        status = cudaStreamQuery(nullptr);
        return status != cudaErrorNotReady;
    };
    if (wait_for(done, most_seconds)) return check(status, fmt::format("waiting for the GPU after {}", after));
    gave_up = true;
    throw DataError(still_running(after, most_seconds));
}

void check_launch(std::string_view kernel) { check(cudaGetLastError(), fmt::format("launch of {}", kernel)); }

}  // namespace ulp::gpu
