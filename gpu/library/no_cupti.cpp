// What stands in for CUPTI where the build has no headers of it.
#include "gpu/library/kernel_names.hpp"

namespace ulp::gpu {

std::vector<std::string> kernels_run_by(const std::function<void()>& work) {
    work();
    return {};
}

}  // namespace ulp::gpu
