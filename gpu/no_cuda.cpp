// What stands in for the CUDA part where the build has none.
#include "gpu/attention/attention.hpp"
#include "gpu/comparison/bulk.hpp"
#include "gpu/devices/cuda_errors.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/functions/fma_run.hpp"
#include "gpu/functions/functions.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

std::unique_ptr<Executor> open_cuda_device() { throw DataError(built_without_cuda()); }

std::vector<float> attend_on_cuda(const AttentionProblem&) { throw DataError(built_without_cuda()); }

FunctionAnswers ask_function_on_cuda(const HardwareFunction&, std::uint32_t, std::uint64_t) {
    throw DataError(built_without_cuda());
}

FmaAnswers ask_fma_on_cuda(std::uint64_t, std::uint64_t) { throw DataError(built_without_cuda()); }

BulkReport run_bulk_on_cuda(const Executor&, const BulkSettings&) { throw DataError(built_without_cuda()); }

}  // namespace ulp::gpu
