// In place of the kernels for sm_100a, where nvcc is older than CUDA 12.8 and does not know it. By qualified names, as
// in gpu/no_cuda.cpp.
#include "gpu/untried/function_kernels.hpp"

namespace ulp {

std::span<const gpu::FunctionLauncher> gpu::function_launchers_sm100() { return {}; }
std::span<const gpu::FunctionLauncher> gpu::function_launchers_sm100_only() { return {}; }

}  // namespace ulp
