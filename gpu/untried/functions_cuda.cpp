// Asks the functions of the first CUDA device.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "gpu/devices/cuda_check.hpp"
#include "gpu/untried/function_kernels.hpp"
#include "gpu/untried/functions.hpp"
#include "gpu/untried/transformer_pass.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"

namespace ulp::gpu {
namespace {

const FunctionLauncher& launcher_of(const HardwareFunction& function) {
    for (const auto launchers : {function_launchers_sm80(), function_launchers_sm90(), function_launchers_sm100(),
                                 function_launchers_sm100_only()}) {
        for (const FunctionLauncher& launcher : launchers) {
            if (launcher.name == function.name) return launcher;
        }
    }
    throw UsageError(fmt::format("{} is not in this program: its nvcc is older than CUDA 12.8; build with a newer one",
                                 function.name));
}

}  // namespace

FunctionAnswers ask_function_on_cuda(const HardwareFunction& function, std::uint32_t first, std::uint64_t count,
                                     bool keep) {
    const FunctionLauncher& launcher = launcher_of(function);
    AnswersOnDevice answers{0, 0, 0, ~0ULL};
    const DeviceArray<AnswersOnDevice> memory{std::span<const AnswersOnDevice>(&answers, 1)};
    const DeviceArray<std::uint32_t> results(keep ? count : 0);  // null where nothing is kept
    launcher.launch(first, count, memory.data(), results.data());
    check_launch(function.name);
    synchronise(function.name);
    memory.download(std::span<AnswersOnDevice>(&answers, 1));
    std::vector<std::uint32_t> kept(results.size());
    results.download(std::span<std::uint32_t>(kept));
    return {answers.digest, answers.differ, answers.differ_nan, answers.first, std::move(kept)};
}

// Asks the first CUDA device for classes of fp16's fma.

FmaAnswers ask_fma_on_cuda(std::uint64_t first, std::uint64_t count) {
    FmaOnDevice answers{0, 0, ~0ULL};
    const DeviceArray<FmaOnDevice> memory{std::span<const FmaOnDevice>(&answers, 1)};
    launch_fma_classes(first, count, memory.data());
    check_launch("fma.rn.f16");
    synchronise("fma.rn.f16");
    memory.download(std::span<FmaOnDevice>(&answers, 1));
    return {answers.digest, answers.differ, answers.first};
}

// Runs the attention kernel on the first CUDA device.

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
