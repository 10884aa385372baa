// `ulplab gpu invariance`: whether the outputs of a token depend on how many others are in the batch.
#include <charconv>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/untried/invariance.hpp"

namespace ulp {
namespace {

struct InvarianceOptions {
    std::string device = "cuda";
    std::string type = "bf16_d16";
    std::vector<std::string> layers;
    std::vector<std::int64_t> tokens;
    std::string out;
};

struct LayerSize {
    std::int64_t features, k;
};

/// "4096x11008"
LayerSize layer_of(const std::string& text) {
    LayerSize layer{};
    const char* const end = text.data() + text.size();
    const auto [middle, bad] = std::from_chars(text.data(), end, layer.features);
    if (bad == std::errc{} && middle != end && *middle == 'x') {
        const auto [stop, error] = std::from_chars(middle + 1, end, layer.k);
        const bool in_range = layer.features >= 1 && layer.k >= 1 && layer.features <= gpu::largest_extent &&
                              layer.k <= gpu::largest_extent;
        if (error == std::errc{} && stop == end && in_range) return layer;
    }
    throw UsageError(fmt::format("the layer '{}' is not NxK with extents from 1 to {}, such as 4096x11008", text,
                                 gpu::largest_extent));
}

std::vector<std::int64_t> token_counts(const InvarianceOptions& options) {
    std::vector<std::int64_t> tokens = options.tokens;
    if (tokens.empty()) {
        for (std::int64_t count = 1; count <= 4096; count *= 2) tokens.push_back(count);
    }
    std::sort(tokens.begin(), tokens.end());
    if (tokens.front() < 1 || tokens.back() > gpu::largest_extent) {
        throw UsageError(fmt::format("--tokens lie from 1 to {}", gpu::largest_extent));
    }
    return tokens;
}

std::string counted(int count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string lines_of(const gpu::Invariance& found) {
    std::string text;
    for (const gpu::InvarianceStep& step : found.steps) {
        const bool declined = !step.declined.empty();
        text += fmt::format("{},{},{},{},{},{},{},\"{}\"\n", found.type->name, found.features, found.k, step.tokens,
                            declined ? "declined" : name_of(step.predicted), name_of(step.run),
                            declined      ? "unknown"
                            : step.unlike ? "other"
                                          : "predicted",
                            declined ? step.declined : step.order);
    }
    return text;
}

void print_layer(const gpu::Invariance& found) {
    const int unpredicted = found.changes_unpredicted();
    fmt::print("{} {} x {}: {} over {} of tokens{}; {}, {} with other words than predicted\n", found.type->name,
               found.features, found.k, counted(found.changes(), "change", "changes"),
               counted(static_cast<int>(found.steps.size()), "number", "numbers"),
               unpredicted == 0 ? "" : fmt::format(", {} of them where nothing was predicted", unpredicted),
               counted(found.changes_wrong(), "wrong prediction of a change", "wrong predictions of a change"),
               counted(found.unlike(), "number of tokens", "numbers of tokens"));
    for (const gpu::InvarianceStep& step : found.steps) {
        const auto changes = [](gpu::BitChange change) { return change == gpu::BitChange::change; };
        if (!changes(step.run) && !changes(step.predicted) && step.declined.empty() && !step.unlike) continue;
        fmt::print("  {:>6} tokens: bits {}, predicted {}{}; {}\n", step.tokens, name_of(step.run),
                   name_of(step.predicted), step.unlike ? ", other words than predicted" : "",
                   step.declined.empty() ? step.order : "declined: " + step.declined);
    }
    if (!found.remedies.empty())
        fmt::print("  the library's own orders: error up to {:.3g} of sum |a b|, predicted {:.3g}\n", found.run_error,
                   found.error);
    const auto outcome = [](bool holds) { return holds ? "the bits stay" : "the bits still change"; };
    for (const gpu::Remedy& remedy : found.remedies) {
        std::string text = remedy.applies
                               ? fmt::format("predicted: {}, error {:.3g}", outcome(remedy.holds), remedy.error)
                               : "no such order is known";
        if (remedy.runs > 1) {
            text += fmt::format("; run at {} numbers of tokens: {}, error {:.3g}", remedy.runs,
                                outcome(remedy.run_holds), remedy.run_error);
        } else if (remedy.asked < 2) {
            text += "; whether they stay takes two numbers of tokens with a prediction";
        } else {
            text += fmt::format("; run at {} of {} numbers of tokens: the device does not take it at the others",
                                remedy.runs, remedy.asked);
        }
        if (remedy.unlike > 0) text += fmt::format(", {} runs with other bits than predicted", remedy.unlike);
        fmt::print("  {}: {}\n", remedy.name, text);
    }
}

std::string remedy_lines_of(const gpu::Invariance& found) {
    std::string text;
    for (const gpu::Remedy& remedy : found.remedies) {
        text += fmt::format("{},{},{},\"{}\",{},{:.6g},{},{},{:.6g},{}\n", found.type->name, found.features, found.k,
                            remedy.name,
                            !remedy.applies ? "unknown"
                            : remedy.holds  ? "same"
                                            : "change",
                            remedy.error, remedy.runs,
                            remedy.runs < 2    ? "not run"
                            : remedy.run_holds ? "same"
                                               : "change",
                            remedy.run_error, remedy.unlike);
    }
    return text;
}

/// Of the layers whose bits change, the one with the fewest products, made smaller while its bits still change.
void print_smallest(gpu::Library& library, const std::vector<gpu::Invariance>& all) {
    const gpu::Invariance* smallest = nullptr;
    const auto products = [](const gpu::Invariance& x) { return x.features * x.k * x.first->against; };
    for (const gpu::Invariance& each : all) {
        if (each.first && (smallest == nullptr || products(each) < products(*smallest))) smallest = &each;
    }
    if (smallest == nullptr) {
        fmt::print("no bit of the first token changed\n");
        return;
    }
    const auto found = gpu::smallest_change(library, *smallest);
    const gpu::CounterExample& c = found->change;
    fmt::print(
        "smallest counter-example found by {} runs: {} {} x {}, {} and {} tokens: output {} of token 0 is {:X} and "
        "{:X}\n",
        found->runs, smallest->type->name, found->features, found->k, c.shape, c.against, c.element, c.values[0],
        c.values[1]);
}

ExitCode invariance(const InvarianceOptions& options) {
    const gpu::ProblemType& type = gpu::problem_type(options.type);
    const auto tokens = token_counts(options);
    std::vector<LayerSize> layers;
    for (const std::string& layer : options.layers) layers.push_back(layer_of(layer));
    const auto library = gpu::open_library(options.device);
    const auto device = gpu::open_device(options.device);
    std::vector<gpu::Invariance> all;
    std::string table =
        fmt::format("# cublas {}\n# gpu {}\n# source {}\ntype,features,k,tokens,predicted,run,words,order\n",
                    library->info().version, library->info().gpu, library->info().hardware ? "hardware" : "software");
    std::string remedies = "type,features,k,remedy,predicted,error,runs,run,run_error,unlike\n";
    bool equal = true;
    bool predicted = false;
    for (const LayerSize& layer : layers) {
        all.push_back(gpu::invariance_of(*library, *device, type, layer.features, layer.k, tokens));
        print_layer(all.back());
        table += lines_of(all.back());
        remedies += remedy_lines_of(all.back());
        equal = equal && all.back().unlike() == 0 && all.back().remedies_unlike() == 0;
        predicted = predicted || !all.back().remedies.empty();
        if (!options.out.empty()) write_text(options.out, table + remedies);
    }
    print_smallest(*library, all);
    require_compared(predicted, "no order is known of any of these products, so none was predicted");
    return equal ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_invariance(OptionParser& app) {
    const auto options = std::make_shared<InvarianceOptions>();
    options->layers = {"768x768", "4096x4096", "4096x11008", "256x8192"};
    add_device_option(app, options->device);
    app.add_option("--layers", options->layers, "linear layers, outputs x inputs, such as 4096x11008")
        .capture_default_str();
    app.add_option("--type", options->type, "type of product, as in a list of shapes").capture_default_str();
    app.add_option("--tokens", options->tokens, "numbers of tokens; default: the powers of two to 4096");
    app.add_option("--out", options->out, "CSV file for the table");
    app.footer(
        "Remedies run too: the algorithm of the most tokens pinned, a split of 1, and a kernel of our own; the table "
        "names the error that each costs. A change is predicted from the words that the predicted orders give. Exit "
        "code 4 when the library's words, or a remedy's, are not those predicted.");
    return [options] { return invariance(*options); };
}

}  // namespace ulp
