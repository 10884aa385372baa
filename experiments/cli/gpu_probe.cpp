// `ulplab gpu probe`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/recordings/recorder.hpp"

namespace ulp {
namespace {

struct GpuProbeOptions {
    std::string device = "cuda";
    std::string out;
};

std::string line_of(const gpu::ProbeReport& report) {
    const bool as_claimed = report.claimed && *report.claimed == report.answer;
    std::string verdict = "the model table has no row";
    if (report.claimed) verdict = as_claimed ? "as the row" : fmt::format("the row gives {:08X}", *report.claimed);
    return fmt::format(
        "{:<4} {:<32} {:08X}  supports {:<24} against {:<16} {}\n", report.probe->id, report.instruction->name(),
        report.answer, report.supported.empty() ? "none" : fmt::format("{}", fmt::join(report.supported, "; ")),
        report.contradicted.empty() ? "none" : fmt::format("{}", fmt::join(report.contradicted, "; ")), verdict);
}

ExitCode probe(const GpuProbeOptions& options) {
    const auto device = gpu::open_device(options.device);
    std::string text = provenance(device->info());
    bool as_claimed = true;
    std::string_view last_question;
    for (const gpu::ProbeReport& report : gpu::ask_probes(*device)) {
        if (report.probe->question != last_question) text += fmt::format("# {}\n", report.probe->question);
        last_question = report.probe->question;
        text += line_of(report);
        as_claimed = as_claimed && (!report.claimed || *report.claimed == report.answer);
    }
    fmt::print("{}", text);
    if (!options.out.empty()) write_text(options.out, text);
    return as_claimed ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_probe(OptionParser& app) {
    const auto options = std::make_shared<GpuProbeOptions>();
    add_device_option(app, options->device);
    app.add_option("--out", options->out, "file for the answers");
    app.footer("Each answer with the hypotheses that predict it. Exit code 4 where one differs from the model table.");
    return [options] { return probe(*options); };
}

}  // namespace ulp
