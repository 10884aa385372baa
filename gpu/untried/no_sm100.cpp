// In place of the kernels for sm_100a and sm_120a, where nvcc is older than CUDA 12.8 and does not know them. By
// qualified names, as in gpu/no_cuda.cpp.
#include "gpu/kernels/bulk_kernels.cuh"
#include "gpu/kernels/launch.cuh"
#include "gpu/untried/function_kernels.hpp"

namespace ulp {

std::span<const gpu::FunctionLauncher> gpu::function_launchers_sm100() { return {}; }
std::span<const gpu::FunctionLauncher> gpu::function_launchers_sm100_only() { return {}; }
std::span<const gpu::Launcher> gpu::mma_sm120_launchers() { return {}; }
std::span<const gpu::Launcher> gpu::tcgen05_launchers() { return {}; }

// find_launch has refused the instruction before.
void gpu::enqueue_scaled_comparison(const BulkLayout&, const BlockScaledModel&, const BulkData&, BulkTally*) {}

}  // namespace ulp
