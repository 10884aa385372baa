// Compiled for sm_100a only.
#include "gpu/untried/function_kernel.cuh"

namespace ulp::gpu {
namespace {

ULPLAB_HARDWARE_FUNCTIONS_SM100_ONLY(ULPLAB_DEFINE_FUNCTION)

}  // namespace

std::span<const FunctionLauncher> function_launchers_sm100_only() {
    static constexpr FunctionLauncher table[] = {ULPLAB_HARDWARE_FUNCTIONS_SM100_ONLY(ULPLAB_FUNCTION_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
