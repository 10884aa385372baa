// Stand-ins for the CUDA part in a build without it. They are defined by qualified names, which compile only where the
// header declares the same function: another parameter in the header is an error here, in every build of the tests.
#include "gpu/devices/bulk.hpp"
#include "gpu/devices/cuda_errors.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/untried/functions.hpp"
#include "gpu/untried/transformer_pass.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

std::unique_ptr<gpu::Executor> gpu::open_cuda_device() { throw DataError(built_without_cuda()); }

std::vector<float> gpu::attend_on_cuda(const AttentionProblem&) { throw DataError(built_without_cuda()); }

gpu::FunctionAnswers gpu::ask_function_on_cuda(const HardwareFunction&, std::uint32_t, std::uint64_t, bool) {
    throw DataError(built_without_cuda());
}

gpu::FmaAnswers gpu::ask_fma_on_cuda(std::uint64_t, std::uint64_t) { throw DataError(built_without_cuda()); }

gpu::BulkReport gpu::run_bulk_on_cuda(const Executor&, const BulkSettings&) { throw DataError(built_without_cuda()); }

}  // namespace ulp
