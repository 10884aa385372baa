// `ulplab gpu info`
#include <fmt/core.h>

#include <map>
#include <memory>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/devices/reference.hpp"

namespace ulp {
namespace {

ExitCode show(const std::string& spec) {
    const auto device = gpu::open_device(spec);
    const gpu::DeviceInfo& info = device->info();
    fmt::print("{}", provenance(info));
    if (info.hardware) {
        fmt::print("# multiprocessors {}\n# memory {:.1f} GiB\n", info.multiprocessors,
                   static_cast<double>(info.memory_bytes) / (1024.0 * 1024.0 * 1024.0));
    }
    for (const gpu::Instruction& row : gpu::instructions()) {
        if (!device->has(row)) continue;
        std::string model = gpu::claimed_key(row, info.architecture);
        if (model.empty()) model = gpu::has_reference(row, info.architecture) ? "exact" : "none";
        fmt::print("{:<38} model {}\n", row.name(), model);
    }
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_info(OptionParser& app) {
    const auto device = std::make_shared<std::string>("cuda");
    add_device_option(app, *device);
    return [device] { return show(*device); };
}

}  // namespace ulp
