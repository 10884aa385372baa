#include "gpu/devices/cuda_check.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "gpu/devices/cuda_errors.hpp"
#include "gpu/instructions/instruction.hpp"
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

std::array<std::span<const Launcher>, 8> all_launchers() {
    return {mma_sm80_launchers(),    mma_sm89_launchers(), mma_sm90_launchers(), mma_sm120_launchers(),
            mma_integer_launchers(), wmma_launchers(),     wgmma_launchers(),    tcgen05_launchers()};
}

Launch find_launch(std::string_view instruction) {
    const Instruction& row = instruction_by_name(instruction);
    for (const auto launchers : all_launchers()) {
        for (const Launcher& launcher : launchers) {
            if (launcher.instruction == row) return launcher.launch;
        }
    }
    if (tcgen05_launchers().empty() && row.availability.minimum >= 100) {
        throw UsageError(fmt::format(
            "{} is not in this program: its nvcc is older than CUDA 12.8 and does not know {}a; build with a newer one",
            instruction, architecture_name(row.availability.minimum)));
    }
    throw std::logic_error("instruction " + std::string(instruction) + " has no kernel");
}

}  // namespace ulp::gpu
