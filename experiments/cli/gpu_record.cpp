// `ulplab gpu record`
#include <fmt/core.h>

#include <memory>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/recordings/recorder.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct GpuRecordOptions {
    std::string device = "cuda";
    std::string instruction = "all";
    std::string out;
    gpu::RecordSettings settings;
};

void check(const gpu::RecordSettings& settings) {
    if (settings.sample_tiles < 1 || settings.bulk_digests < 1 || settings.bulk_digests > gpu::most_digests) {
        throw UsageError(fmt::format("a recording needs --tiles of 1 or more ({}) and --digests of 1 to {} ({})",
                                     settings.sample_tiles, gpu::most_digests, settings.bulk_digests));
    }
}

ExitCode record(GpuRecordOptions options) {
    check(options.settings);
    const auto device = gpu::open_device(options.device);
    const auto rows = chosen_instructions(*device, options.instruction);
    const std::filesystem::path folder = std::filesystem::path(options.out) / gpu::card_name(device->info());
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw DataError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
    options.settings.date = today();
    std::uintmax_t bytes = 0;
    std::size_t files = 0;
    for (const gpu::Instruction* row : rows) {
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
    const auto options = std::make_shared<GpuRecordOptions>();
    add_device_option(app, options->device);
    app.add_option("--instruction", options->instruction, "all, main, mma, wmma, wgmma, tcgen05, or one by name")
        .capture_default_str();
    app.add_option("--out", options->out, "folder for the recordings, which go into OUT/CARD").required();
    app.add_option("--seed", options->settings.seed, "seed of the samples and of the bulk inputs")
        .capture_default_str();
    app.add_option("--tiles", options->settings.sample_tiles, "number of sample tiles per class").capture_default_str();
    app.add_option("--digests", options->settings.bulk_digests,
                   "number of bulk digests per class, each of 4096 cases; at most 256")
        .capture_default_str();
    app.footer("Recordings made with --device software say 'source software' and are no evidence.");
    return [options] { return record(*options); };
}

}  // namespace ulp
