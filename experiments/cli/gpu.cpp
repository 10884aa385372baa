// `ulplab gpu ...`: what needs a GPU, or a model in its place for a dry run.
#include <fmt/chrono.h>

#include <ctime>

#include "engine/files/whole_file.hpp"
#include "experiments/cli/gpu_commands.hpp"

namespace ulp {

DeclaredOption add_device_option(OptionParser& app, std::string& device) {
    return app
        .add_option("--device", device,
                    "cuda, or software:sm_90 and the like: a model in place of the GPU, for dry runs")
        .capture_default_str();
}

std::vector<const gpu::Instruction*> chosen_instructions(const gpu::Executor& executor, const std::string& choice) {
    std::vector<const gpu::Instruction*> chosen;
    const gpu::Instruction* oldest = nullptr;  // of those that are named
    for (const gpu::Instruction& row : gpu::instructions()) {
        const bool main = gpu::is_float(row.a) && row.a != gpu::Element::fp64 && row.a == row.b;
        if (choice != "all" && choice != gpu::name_of(row.family) && !(choice == "main" && main)) continue;
        if (executor.has(row)) chosen.push_back(&row);
        if (oldest == nullptr || row.availability.minimum < oldest->availability.minimum) oldest = &row;
    }
    if (!chosen.empty()) return chosen;
    const gpu::Instruction& row = oldest == nullptr ? gpu::instruction_by_name(choice) : *oldest;
    if (!executor.has(row)) {
        throw UsageError(fmt::format("{} has no {}, which {} {}; see ulplab gpu info", executor.info().name, choice,
                                     row.availability.exact ? "exists only on" : "needs",
                                     gpu::architecture_name(row.availability.minimum)));
    }
    return {&row};
}

TimeLimit::TimeLimit(double seconds) : seconds_(seconds) {
    if (!std::isfinite(seconds) || seconds <= 0)
        throw UsageError(fmt::format("--seconds is {}; give a finite number above 0", seconds));
}

bool TimeLimit::over() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() >= seconds_;
}

void require_compared(bool compared, const std::string& why) {
    if (!compared) throw DataError("nothing was compared: " + why);
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    return fmt::format("{:%Y-%m-%d}", parts);
}

std::string provenance(const gpu::DeviceInfo& info) {
    return fmt::format("# source {}\n# gpu {}\n# architecture {}\n# driver {}\n# cuda {} {}\n# date {}\n",
                       info.hardware ? "hardware" : "software", info.name, gpu::architecture_name(info.architecture),
                       info.driver.empty() ? "unknown" : info.driver,
                       info.cuda_driver.empty() ? "none" : info.cuda_driver,
                       info.cuda_runtime.empty() ? "none" : info.cuda_runtime, today());
}

void write_text(const std::filesystem::path& path, const std::string& text) {
    std::error_code error;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
    replace_whole_file(path, text);
}

namespace {

constexpr Command parts[] = {
    {"info", "the GPU, its driver, and the instructions it has", declare_gpu_info},
    {"bulk", "compare billions of cases with the models, on the device", declare_gpu_bulk},
    {"record", "record what the instructions compute", declare_gpu_record},
    {"throughput", "time the libraries' products, and say which kernels ran", declare_gpu_throughput},
    {"cublas-study", "find the order in which cuBLAS's kernels add, after the product", declare_gpu_cublas_study},
    {"shapes", "draw a list of products, to be predicted", declare_gpu_shapes},
    {"answers", "store which kernels cuBLAS would choose, without running them", declare_gpu_answers},
    {"predict", "predict the bits of cuBLAS's products before they run", declare_gpu_predict},
    {"judge", "run predicted products and count what holds", declare_gpu_judge},
    {"invariance", "at which number of rows the bits of a row change, and what remedies cost", declare_gpu_invariance},
    {"functions", "ask for exponentials, conversions and halves' arithmetic, operand by operand",
     declare_gpu_functions},
    {"fma", "ask for fp16's fused multiply-add of all 2^45 classes of operands, range by range", declare_gpu_fma},
    {"attention", "fused attention on the device and by the model, in tiles of several sizes", declare_gpu_attention},
    {"transformer", "a forward pass of GPT-2's shape by the library and the attention kernel, and by their models",
     declare_gpu_transformer},
    {"experiments", "compare the experiments' own products with the card's", declare_gpu_experiments},
};

Action declare_gpu(OptionParser& app) { return declare_subcommands(app, parts); }

}  // namespace

Command gpu_command() { return {"gpu", "matrix instructions on a real GPU", declare_gpu}; }

}  // namespace ulp
