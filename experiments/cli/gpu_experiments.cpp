// `ulplab gpu experiments`: the experiments' own products, each computed by the card too.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "engine/files/sha256.hpp"
#include "engine/products/observed.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/product_ledger.hpp"
#include "experiments/framework/runner.hpp"
#include "experiments/framework/sources_digest.hpp"
#include "gpu/card_products.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct GpuExperimentsOptions {
    std::vector<std::string> names = {"all"};
    std::string device = "cuda";
    std::string out = "experiments.csv";
    bool smoke = false;
};

/// An experiment's products that the card was asked for as well.
struct Compared {
    std::string lines;  // of the file
    std::int64_t products = 0;
    std::string difference;  // the first; empty: none
};

Compared compare_with_card(const Experiment& experiment, RunSize size,
                           const std::shared_ptr<const gpu::Executor>& device) {
    Compared compared;
    gpu::CardProducts card(device);
    ProductLedger ledger;
    try {
        const ReplacedBackends beside([&](auto backend) { return card.beside(std::move(backend)); });
        const ObservedProducts observed(ledger);
        Result result(experiment.name);
        experiment.run({1, size, "", Settings(experiment.settings, size), [](double) {}}, result);
    } catch (const BitsDiffer& error) {
        compared.difference = error.what();
    }
    const auto counts = card.counts();
    for (const auto& [unit, count] : counts) compared.products += count;
    compared.lines = card_evidence_lines(experiment.name, sha256_of(sources_digest(experiment.name)).substr(0, 16),
                                         counts, card.differing_unit(), ledger.products(), today());
    return compared;
}

ExitCode run_gpu_experiments(const GpuExperimentsOptions& options) {
    const std::vector<const Experiment*> chosen = chosen_experiments(options.names);
    const std::shared_ptr<const gpu::Executor> device = gpu::open_device(options.device);
    std::string text = provenance(device->info()) + std::string(card_evidence_header) + "\n";
    write_text(options.out, text);
    bool equal = true;
    std::int64_t products = 0;
    for (const Experiment* experiment : chosen) {
        const auto start = std::chrono::steady_clock::now();
        const Compared compared =
            compare_with_card(*experiment, options.smoke ? RunSize::smoke : RunSize::quick, device);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        fmt::print("{:<20} {:>8} products compared, {}, {:.1f} s\n", experiment->name, compared.products,
                   compared.difference.empty() ? (compared.products == 0 ? "so nothing was looked at" : "none differs")
                                               : "one differs",
                   seconds.count());
        if (!compared.difference.empty()) fmt::print("{}\n", compared.difference);
        std::fflush(stdout);
        equal = equal && compared.difference.empty();
        products += compared.products;
        text += compared.lines;
        write_text(options.out, text);  // what was compared until now is kept
    }
    require_compared(products > 0 || !equal, fmt::format("no experiment among them multiplies on a model of {}",
                                                         gpu::architecture_name(device->info().architecture)));
    return equal ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_experiments(OptionParser& app) {
    const auto options = std::make_shared<GpuExperimentsOptions>();
    app.add_option("NAME", options->names, "experiments, or all").capture_default_str();
    add_device_option(app, options->device);
    app.add_option("--out", options->out, "the file: tests/recordings/<card>/experiments.csv is committed")
        .capture_default_str();
    app.add_flag("--smoke", options->smoke, "the shortest runs, to try the command");
    app.footer(
        "Runs the experiments with their own settings and seed 1. Each product on a model of this card's architecture "
        "is\n"
        "computed by the card too. The file's digests are those of later runs without a card as long as the products "
        "are\n"
        "the same: `ulplab run`, `ulplab doctor` and the report say which are.");
    return [options] { return run_gpu_experiments(*options); };
}

}  // namespace ulp
