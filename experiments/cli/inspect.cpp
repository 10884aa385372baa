// ulplab inspect: what tensors of files hold, what formats lose of them, which loss scales fit.
#include "engine/analysis/inspection_json.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/files.hpp"

namespace ulp {
namespace {

struct InspectOptions {
    std::vector<std::string> files;
    std::vector<std::string> formats{"fp16", "bf16", "e4m3", "e5m2", "mxfp8", "nvfp4"};
    std::string target = "fp16";
    bool json = false;
    std::string page;
};

std::string percent(std::int64_t part, std::int64_t all) {
    if (all == 0 || part == 0) return "0";
    return fmt::format("{:.3g}%", 100 * static_cast<double>(part) / static_cast<double>(all));
}

std::string number_or_dash(const std::optional<double>& value, int digits) {
    return value ? fmt::format("{:.{}g}", *value, digits) : "-";
}

void print_losses(const TensorCounts& counts, const std::vector<JudgedFormat>& formats) {
    const std::int64_t nonzero = counts.count - counts.zeros - counts.infinities - counts.nans;
    fmt::print("  {:<20} {:>10} {:>10} {:>10} {:>11} {:>11} {:>8}\n", "format", "lost", "subnormal", "overflow",
               "mean error", "worst error", "SNR/dB");
    for (std::size_t f = 0; f < formats.size(); ++f) {
        const std::optional<FormatLoss>& loss = counts.losses[f];
        if (!loss) {
            fmt::print("  {:<20} not computed: more than {} numbers in a tensor\n", formats[f].name, most_in_blocks);
            continue;
        }
        fmt::print("  {:<20} {:>10} {:>10} {:>10} {:>11} {:>11} {:>8}\n", formats[f].name, percent(loss->lost, nonzero),
                   percent(loss->subnormal, nonzero), percent(loss->overflow, nonzero),
                   number_or_dash(loss->mean_relative_error(), 3), fmt::format("{:.3g}", loss->worst),
                   number_or_dash(loss->snr_db(), 4));
    }
}

void print_tensor(const std::string& title, const TensorCounts& counts, const std::vector<JudgedFormat>& formats) {
    fmt::print("{}\n  {} numbers, {} zeros, {} infinities, {} NaNs, absolute maximum {:.6g}", title, counts.count,
               counts.zeros, counts.infinities, counts.nans, counts.absmax);
    if (counts.binades.empty()) {
        fmt::print("\n");
        return;
    }
    fmt::print(", exponents {} to {}\n", counts.binades.begin()->first, counts.binades.rbegin()->first);
    print_losses(counts, formats);
}

/// "2^12 (limited by a, b and 3 more)".
std::string limited(const std::vector<std::string>& names) {
    constexpr std::size_t shown = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) text += (i > 0 ? ", " : "") + printable(names[i]);
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return text;
}

void print_scale(const Inspection& result) {
    const ScaleRange& scale = result.scale;
    if (result.are_weights) {
        fmt::print("Loss scale: none. {}\n", weights_caveat);
        return;
    }
    if (!scale.smallest) {
        fmt::print("Loss scale for {}: every number is zero, infinite or NaN, so there is none.\n", result.target);
        return;
    }
    fmt::print("Loss scale for {}\n", result.target);
    fmt::print("  smallest    2^{:<5} at most 0.1 % of the nonzero numbers become zero; limited by {}\n",
               *scale.smallest, limited(scale.limits_smallest));
    fmt::print("  largest     2^{:<5} no number overflows; limited by {}\n", *scale.largest,
               limited(scale.limits_largest));
    if (scale.recommended) {
        fmt::print("  recommended 2^{:<5} {} powers of two below the largest where the smallest allows it\n",
                   *scale.recommended, scale_headroom);
    } else {
        fmt::print(
            "  recommended none: the smallest lies above the largest; a wider format or a scale per tensor is "
            "needed\n");
    }
    fmt::print("  {}\n", loss_scale_caveat);
}

void print_console(const Inspection& result) {
    for (std::size_t i = 0; i < result.tensors.size(); ++i) {
        const InputTensor& input = result.inputs[i];
        const std::string step = input.step ? fmt::format(", step {}", *input.step) : "";
        print_tensor(fmt::format("{} ({}, shape ({}){})", printable(input.name), printable(input.stored.type),
                                 fmt::join(input.stored.shape, ", "), step),
                     result.tensors[i].counts, result.formats);
    }
    for (const InputTensor& input : result.skipped) {
        fmt::print("{} ({}): skipped, its type holds no floating-point numbers\n", printable(input.name),
                   printable(input.stored.type));
    }
    if (result.tensors.size() > 1) {
        print_tensor(fmt::format("all {} tensors", result.tensors.size()), result.all, result.formats);
    }
    print_scale(result);
}

void write_page(const InspectOptions& options, const std::string& page) {
    write_output(options.page, page);
    fmt::print(stderr, "Page: {}\n", options.page);
}

ExitCode inspect(const InspectOptions& options) {
    require_writable(options.page);
    const Inspection result = inspect_tensors({options.files, options.formats, options.target});
    if (options.json) {
        fmt::print("{}\n", json_of(result).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
        print_console(result);
    }
    if (!options.page.empty()) {
        write_page(options, inspection_page(result, printable(fmt::format("{}", fmt::join(options.files, ", ")))));
    }
    return ExitCode::good;
}

Action declare_inspect(OptionParser& app) {
    const auto options = std::make_shared<InspectOptions>();
    app.add_option("FILES", options->files,
                   "files (.npy, .npz, .safetensors), folders of them, and patterns; the last number in a file's name "
                   "is its step")
        .required();
    app.add_option("--format", options->formats,
                   "number formats to judge, also block-scaled ones such as mxfp8 and nvfp4; several, or with commas")
        .repeated()
        .delimiter(',')
        .capture_default_str();
    app.add_option("--target", options->target, "number format for which the loss scale is chosen")
        .capture_default_str();
    app.add_flag("--json", options->json, "prints JSON");
    app.add_option("--page", options->page,
                   "file for one HTML page with the histograms, the losses and the loss scale");
    add_expansion_option(app);
    return [options] { return inspect(*options); };
}

}  // namespace

Command inspect_command() {
    return {"inspect", "what tensors in files hold, what number formats lose of them, which loss scales fit",
            declare_inspect};
}

}  // namespace ulp
