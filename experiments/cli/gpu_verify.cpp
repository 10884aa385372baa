// `ulplab verify --device`, and `ulplab gpu verify`, its other name.
#include <fmt/core.h>

#include <memory>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/comparison/live_verify.hpp"
#include "gpu/recordings/recording.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct GpuVerifyOptions {
    std::string device = "cuda";
    std::vector<std::string> paths;
};

bool verify_set(const gpu::Executor& device, const RecordedFiles& files) {
    bool good = true;
    const RecordedSet set = read_recording(files);
    const auto comparisons = gpu::run_recorded_set(device, set);
    if (comparisons.empty()) {
        fmt::print("{} {}->{}: the device has no such instruction\n", set.gpu, set.input, set.output);
    }
    for (const gpu::LiveComparison& c : comparisons) {
        fmt::print("{} on {}: as recorded {}/{}{}, as the model {}\n", c.set, c.instruction, c.equal_recorded, c.rows,
                   c.must_equal_recorded ? "" : " (another architecture or instruction)",
                   c.has_model ? fmt::format("{}/{}", c.equal_model, c.rows) : "none");
        if (!c.first.empty()) fmt::print("  {}\n", c.first);
        good = good && c.good();
    }
    return good;
}

bool verify_recording(const gpu::Executor& device, const std::filesystem::path& path) {
    const gpu::Recording recording = gpu::read_recording_file(path);
    if (!device.has(*recording.instruction)) {
        fmt::print("{}: the device has no such instruction\n", recording.instruction->name());
        return true;
    }
    const gpu::RecordingReplay replay = gpu::replay_recording(recording, device);
    const bool same = recording.device.architecture == device.info().architecture;
    fmt::print("{} of {}{}: probes {}/{}, samples {}/{}, bulk {}/{}\n", recording.instruction->name(),
               recording.device.name, same ? "" : " (another architecture)", replay.probes.equal, replay.probes.total,
               replay.samples.equal, replay.samples.total, replay.bulk.equal, replay.bulk.total);
    if (!replay.first.empty()) fmt::print("  {}\n", replay.first);
    return !same || replay.equal();
}

}  // namespace

ExitCode verify_on_device(const std::string& device_name, const std::vector<std::string>& paths) {
    const auto device = gpu::open_device(device_name);
    bool good = true;
    for (const std::string& path : paths) {
        const auto own = gpu::find_recording_files(path);
        for (const auto& file : own) good = verify_recording(*device, file) && good;
        // Of neither kind: find_recordings says what is missing.
        const auto published = own.empty() ? find_recordings(path) : list_recordings(path);
        for (const RecordedFiles& files : published) good = verify_set(*device, files) && good;
    }
    return good ? ExitCode::good : ExitCode::bits_differ;
}

Action declare_gpu_verify(OptionParser& app) {
    const auto options = std::make_shared<GpuVerifyOptions>();
    add_device_option(app, options->device);
    app.add_option("PATH", options->paths, "folders of recordings, in the published layout or the project's own")
        .required();
    app.footer(
        "As `ulplab verify --device`. Runs the recorded inputs on the device and compares with what was recorded and "
        "with the device's models. Exit "
        "code 4 where a recording of the same architecture, or a model, differs.");
    return [options] { return verify_on_device(options->device, options->paths); };
}

}  // namespace ulp
