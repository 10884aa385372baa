#include "gpu/devices/cuda_check.hpp"

#include <fmt/format.h>

#include "gpu/devices/cuda_errors.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

void check(cudaError_t status, std::string_view call) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    throw DataError(cuda_failure(call, cudaGetErrorName(status), cudaGetErrorString(status)));
}

void check_launch(std::string_view kernel) { check(cudaGetLastError(), fmt::format("launch of {}", kernel)); }

}  // namespace ulp::gpu
