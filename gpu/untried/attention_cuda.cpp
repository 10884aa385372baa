// Runs the attention kernel on the first CUDA device.
#include "gpu/devices/cuda_check.hpp"
#include "gpu/untried/attention.hpp"
#include "gpu/untried/attention_kernel.cuh"
#include "softfloat/matrix_units/gemm.hpp"

namespace ulp::gpu {
namespace {

std::vector<std::uint16_t> codes_of(const FloatFormat& format, const MatrixView& numbers) {
    std::vector<std::uint16_t> codes;
    codes.reserve(static_cast<std::size_t>(numbers.rows * numbers.cols));
    for (std::int64_t i = 0; i < numbers.rows; ++i) {
        for (std::int64_t j = 0; j < numbers.cols; ++j) {
            codes.push_back(static_cast<std::uint16_t>(operand_code(format, numbers(i, j))));
        }
    }
    return codes;
}

}  // namespace

std::vector<float> attend_on_cuda(const AttentionProblem& problem) {
    require_attention(problem);
    const auto upload = [&](const MatrixView& numbers) {
        return DeviceArray<std::uint16_t>(std::span<const std::uint16_t>(codes_of(problem.format, numbers)));
    };
    const auto q = upload(problem.q);
    const auto k = upload(problem.k);
    const auto v = upload(problem.v);
    std::vector<float> result(static_cast<std::size_t>(problem.q.rows * problem.q.cols));
    const DeviceArray<float> out(result.size());
    out.fill_bytes(0xA5);
    const AttentionExtents extents{problem.q.rows,    problem.k.rows, static_cast<int>(problem.q.cols),
                                   problem.tile_keys, problem.scale,  problem.causal};
    const auto launch = problem.format == formats::fp16 ? launch_attention_fp16 : launch_attention_bf16;
    launch(extents, q.data(), k.data(), v.data(), out.data());
    check_launch("attention");
    synchronise("attention");
    out.download(result);
    return result;
}

}  // namespace ulp::gpu
