// `ulplab gpu record`
#include <fmt/core.h>

#include <memory>

#include "experiments/commands/gpu_commands.hpp"
#include "gpu/recorder.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct Options {
    std::string device = "cuda";
    std::string instruction = "all";
    std::string out;
    gpu::RecordSettings settings;
};

ExitCode record(Options options) {
    const auto device = gpu::open_device(options.device);
    const std::filesystem::path folder =
        std::filesystem::path(options.out) / gpu::architecture_name(device->info().architecture);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw DataError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
    options.settings.date = today();
    std::uintmax_t bytes = 0;
    std::size_t files = 0;
    for (const gpu::Instruction* row : chosen_instructions(*device, options.instruction)) {
        if (!device->info().hardware && row->a == gpu::Element::fp64)
            continue;  // slow in software, and nothing to learn
        const auto path = folder / gpu::recording_file_name(*row);
        gpu::write_recording(path, gpu::make_recording(*device, *row, options.settings));
        bytes += std::filesystem::file_size(path);
        ++files;
    }
    fmt::print("{} recordings of {} in {}, {} bytes\n", files, device->info().name, folder.string(), bytes);
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_record(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    add_device_option(app, options->device);
    app.add_option("--instruction", options->instruction, "all, main, mma, wmma, wgmma, or one by name")
        .capture_default_str();
    app.add_option("--out", options->out, "folder; the recordings go into OUT/sm_NN").required();
    app.add_option("--seed", options->settings.seed, "of samples and bulk inputs").capture_default_str();
    app.add_option("--tiles", options->settings.sample_tiles, "sample tiles of each class").capture_default_str();
    app.add_option("--digests", options->settings.bulk_digests, "bulk digests of each class, 4096 cases each")
        .capture_default_str();
    app.footer("Recordings made with --device software say 'source software' and are no evidence.");
    return [options] { return record(*options); };
}

}  // namespace ulp
