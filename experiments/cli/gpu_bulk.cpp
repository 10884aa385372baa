// `ulplab gpu bulk`
#include <chrono>

#include "engine/files/sha256.hpp"
#include "engine/products/matmul.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/product_ledger.hpp"
#include "experiments/framework/runner.hpp"
#include "gpu/backends.hpp"
#include "gpu/devices/bulk.hpp"
#include "gpu/devices/reference.hpp"

namespace ulp {
namespace {

struct GpuBulkOptions {
    std::string device = "cuda";
    std::string instruction = "main";
    std::string input_class = "all";
    double blocks = 1e8;
    double seconds = 1e9;
    std::uint64_t seed = 1;
    bool plain = false;
    std::string out;
};

bool chosen(const GpuBulkOptions& options, gpu::InputClass input_class) {
    return options.input_class == "all" || options.input_class == gpu::name_of(input_class);
}

void require_class(const GpuBulkOptions& options) {
    std::string names;
    for (const gpu::InputClass input_class : gpu::input_classes) {
        if (chosen(options, input_class)) return;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", gpu::name_of(input_class));
    }
    throw UsageError(fmt::format("there is no class '{}'; choose all, {}", options.input_class, names));
}

gpu::BulkReport run_one(const gpu::Executor& device, const GpuBulkOptions& options, const gpu::Instruction& row,
                        gpu::InputClass input_class) {
    const gpu::BulkSettings settings{.instruction = &row,
                                     .input_class = input_class,
                                     .seed = options.seed,
                                     .blocks = static_cast<std::uint64_t>(options.blocks),
                                     .seconds = options.seconds,
                                     .plain = options.plain};
    return device.info().hardware ? gpu::run_bulk_on_cuda(device, settings) : gpu::run_bulk_on_host(device, settings);
}

ExitCode bulk(const GpuBulkOptions& options) {
    require_class(options);
    if (!(options.blocks >= 1) || options.blocks > 1e18) throw UsageError("--blocks is between 1 and 1e18");
    static_cast<void>(TimeLimit(options.seconds));
    const auto device = gpu::open_device(options.device);
    const auto rows = chosen_instructions(*device, options.instruction);
    const std::string head = provenance(device->info()) +
                             "instruction,model,class,seed,blocks,elements,mismatches,by_plain_model,mutant_mismatches,"
                             "mutant_elements,seconds,blocks_per_second\n";
    fmt::print("{}", head);
    KeptTable table(head, options.out);
    bool good = true;
    bool compared = false;
    for (const gpu::Instruction* row : rows) {
        if (!gpu::has_reference(*row, device->info().architecture)) {
            fmt::print("# {} has no row in the model table\n", row->name());
            continue;
        }
        for (const gpu::InputClass input_class : gpu::input_classes) {
            if (!chosen(options, input_class)) continue;
            const gpu::BulkReport r = run_one(*device, options, *row, input_class);
            const std::string model = gpu::claimed_key(*row, device->info().architecture);
            table.tell(fmt::format("{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3e}\n", row->name(), model,
                                   gpu::name_of(input_class), options.seed, r.blocks, r.elements, r.mismatches,
                                   r.by_plain, r.mutant_mismatches, r.mutant_elements, r.seconds,
                                   r.seconds > 0 ? static_cast<double>(r.blocks) / r.seconds : 0.0));
            compared = compared || r.elements > 0;
            if (r.mismatches != 0) {
                table.tell(fmt::format("# first: {}\n", r.first));
                good = false;
            }
        }
    }
    require_compared(compared, "no instruction has a row in the model table; see ulplab gpu info");
    return good ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_bulk(OptionParser& app) {
    const auto options = std::make_shared<GpuBulkOptions>();
    add_device_option(app, options->device);
    app.add_option("--instruction", options->instruction, "all, main, mma, wmma, wgmma, tcgen05, or one by name")
        .capture_default_str();
    app.add_option("--class", options->input_class, "all, ordinary, wide, bits, tiny, cancellation or chain")
        .capture_default_str();
    app.add_option("--blocks", options->blocks, "dot products of one instruction, for each instruction and class")
        .capture_default_str();
    app.add_option("--seconds", options->seconds, "at most so long for each instruction and class");
    app.add_option("--seed", options->seed, "of the inputs").capture_default_str();
    app.add_flag("--plain", options->plain, "compare by the plain model alone, not by its fast twin");
    app.add_option("--out", options->out, "CSV file for the counts");
    app.footer(
        "The mutant columns count how many elements of one launch differ from the model with one fraction bit less: a "
        "check that cannot fail proves nothing. Exit code 4 on a mismatch.");
    return [options] { return bulk(*options); };
}

// `ulplab gpu experiments`: the experiments' own products, each computed by the card too.

namespace {

struct GpuExperimentsOptions {
    std::vector<std::string> names = {"all"};
    std::string device = "cuda";
    std::string out = "experiments.csv";
    bool smoke = false;
};

/// An experiment's products that the card was asked for as well.
struct ComparedExperiment {
    std::string lines;  // of the file
    std::int64_t products = 0;
    std::string difference;  // the first; empty: none
};

ComparedExperiment compare_with_card(const Experiment& experiment, RunSize size,
                                     const std::shared_ptr<const gpu::Executor>& device) {
    ComparedExperiment compared;
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
        const ComparedExperiment compared =
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
