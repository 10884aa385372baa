// In place of the kernels for sm_100a and sm_120a, where nvcc is older than CUDA 12.8 and does not know them.
#include "gpu/kernels/bulk_kernels.cuh"
#include "gpu/kernels/launch.cuh"

namespace ulp::gpu {

std::span<const Launcher> mma_sm120_launchers() { return {}; }
std::span<const Launcher> tcgen05_launchers() { return {}; }

// find_launch has refused the instruction before.
void enqueue_scaled_comparison(const BulkLayout&, const BlockScaledModel&, const BulkData&, BulkTally*) {}

}  // namespace ulp::gpu
