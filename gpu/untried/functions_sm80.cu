#include "gpu/untried/function_kernel.cuh"

namespace ulp::gpu {
namespace {

ULPLAB_HARDWARE_FUNCTIONS_SM80(ULPLAB_DEFINE_FUNCTION)

}  // namespace

std::span<const FunctionLauncher> function_launchers_sm80() {
    static constexpr FunctionLauncher table[] = {ULPLAB_HARDWARE_FUNCTIONS_SM80(ULPLAB_FUNCTION_LAUNCHER)};
    return table;
}

}  // namespace ulp::gpu
