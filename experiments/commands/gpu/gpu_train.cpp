// `ulplab gpu train`
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "experiments/commands/gpu/gpu_commands.hpp"
#include "gpu/training.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct GpuTrainOptions {
    std::string backend;
    std::string out;
    gpu::TrainingRun run;
};

/// What multiplies: the GPU for backends that need one.
std::string device_of(const std::string& backend) {
    for (const char* family : {"cuda:", "wgmma:", "cublas:", "cublaslt:"}) {
        if (!backend.starts_with(family)) continue;
        const gpu::DeviceInfo info = gpu::open_cuda_device()->info();
        return fmt::format("{}, {}, driver {}, CUDA {}", info.name, gpu::architecture_name(info.architecture),
                           info.driver.empty() ? "unknown" : info.driver, info.cuda_runtime);
    }
    return "software";
}

ExitCode run_gpu_train(const GpuTrainOptions& options) {
    if (options.run.steps < 1 || options.run.hidden < 1 || options.run.batch < 1) {
        throw UsageError("--steps, --hidden and --batch are at least 1");
    }
    const auto start = std::chrono::steady_clock::now();
    gpu::TraceFile file{options.backend, device_of(options.backend), options.run, {}};
    file.trace = gpu::train(make_backend(options.backend), options.run);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{} {} {} steps in {:.1f} s, trace {}\n", options.backend, options.run.recipe, options.run.steps,
               seconds, file.trace.digest());
    if (!options.out.empty()) gpu::write_trace(options.out, file);
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_train(OptionParser& app) {
    const auto options = std::make_shared<GpuTrainOptions>();
    app.add_option("--unit", options->backend, "what multiplies: cuda:mma, cuda:wgmma, soft:h100, ...").required();
    app.add_option("--recipe", options->run.recipe, "how precise: mixed_fp16, bf16, tf32, ...").capture_default_str();
    app.add_option("--steps", options->run.steps, "of training").capture_default_str();
    app.add_option("--hidden", options->run.hidden, "width of the hidden layer").capture_default_str();
    app.add_option("--batch", options->run.batch, "images a step").capture_default_str();
    app.add_option("--seed", options->run.seed, "of data and weights").capture_default_str();
    app.add_option("--out", options->out, "file for the trace");
    app.footer("A 784-HIDDEN-10 net on generated digits. Compare traces with `ulplab compare A B`.");
    return [options] { return run_gpu_train(*options); };
}

}  // namespace ulp
