// `ulplab gpu attention`: fused attention on a device and by the model, and what the size of a tile changes.
#include <cstring>

#include "engine/tensor/random.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "experiments/framework/settings.hpp"
#include "gpu/untried/transformer_pass.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

struct AttentionRunOptions {
    std::string device = "cuda";
    std::string format = "fp16";
    std::vector<std::int64_t> lengths = {16, 64, 128, 256, 512, 1024};
    std::vector<int> tiles = {32, 64, 128};
    std::vector<std::string> settings;  // KEY=VALUE
    std::int64_t head = 64;
    bool causal = false;
    std::uint64_t seed = 1;
    std::string out;
};

/// Standard normal numbers on a format's grid.
std::vector<float> normal_numbers(const FloatFormat& format, std::int64_t count, std::uint64_t seed,
                                  std::string_view stream) {
    Random random(seed, stream);
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& x : numbers) x = static_cast<float>(round_to(format, random.normal()));
    return numbers;
}

struct AttentionInputs {
    std::vector<float> q, k, v;
    gpu::AttentionProblem problem;

    AttentionInputs(const AttentionRunOptions& options, const FloatFormat& format, std::int64_t length)
        : q(normal_numbers(format, length * options.head, options.seed, "q")),
          k(normal_numbers(format, length * options.head, options.seed, "k")),
          v(normal_numbers(format, length * options.head, options.seed, "v")) {
        problem.q = {q.data(), length, options.head};
        problem.k = {k.data(), length, options.head};
        problem.v = {v.data(), length, options.head};
        problem.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(options.head)));
        problem.causal = options.causal;
        problem.format = format;
    }
};

std::int64_t differing_bits(const std::vector<float>& x, const std::vector<float>& y) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < x.size(); ++i) count += std::memcmp(&x[i], &y[i], sizeof(float)) != 0 ? 1 : 0;
    return count;
}

double largest_difference(const std::vector<float>& x, const std::vector<float>& y) {
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(double{x[i]} - double{y[i]}));
    return largest;
}

std::vector<Setting> settings_of_attention() {
    return {integer_setting("head", "width of the head: a multiple of 16", 64, 64, 16, 256),
            text_setting("mask", "causal: of the keys after each query", "none", {"none", "causal"})};
}

ExitCode attention(AttentionRunOptions options) {
    Settings settings(settings_of_attention(), RunSize::quick);
    for (const std::string& setting : options.settings) settings.set(setting);
    options.head = settings.integer("head");
    options.causal = settings.text("mask") == "causal";
    const auto device = gpu::open_device(options.device);
    const FloatFormat format = format_by_name(options.format);
    const TensorCoreModel model = gpu::attention_model(*device, format);
    KeptTable table(provenance(device->info()) +
                        "length,tile,elements,differ_from_model,differ_from_first_tile,largest_difference\n",
                    options.out);
    std::int64_t wrong = 0;
    bool first = true;
    for (const std::int64_t length : options.lengths) {
        AttentionInputs inputs(options, format, length);
        std::vector<float> first_tile;
        for (const int tile : options.tiles) {
            inputs.problem.tile_keys = tile;
            const std::vector<float> expected = gpu::attend(model, inputs.problem);
            const std::vector<float> got = table.keeping([&] { return gpu::attend_on(*device, inputs.problem); });
            const std::int64_t differ = differing_bits(got, expected);
            if (std::exchange(first, false)) {
                fmt::print("{}: attention of {} heads of {}{}, {}\n", device->info().name, options.format, options.head,
                           options.causal ? ", causal" : "", device->info().hardware ? "hardware" : "no hardware");
            }
            if (first_tile.empty()) first_tile = expected;
            const std::int64_t changed = differing_bits(expected, first_tile);
            const double most = largest_difference(expected, first_tile);
            table.add(fmt::format("{},{},{},{},{},{:.9g}\n", length, tile, expected.size(), differ, changed, most));
            fmt::print(
                "  {:>5} keys, tiles of {:>3}: {} of {} elements differ from the model; {} from tiles of {}, by at "
                "most {:.3g}\n",
                length, tile, differ, expected.size(), changed, options.tiles.front(), most);
            wrong += differ;
        }
        table.write();
    }
    return wrong == 0 ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_attention(OptionParser& app) {
    const auto options = std::make_shared<AttentionRunOptions>();
    add_device_option(app, options->device);
    app.add_option("--format", options->format, "number format of Q, K, V and the weights: fp16 or bf16")
        .one_of({"fp16", "bf16"});
    app.add_option("--size", options->lengths, "numbers of queries and keys").capture_default_str();
    app.add_option("--tiles", options->tiles, "keys of a tile: multiples of 16, at most 256").capture_default_str();
    app.add_option("--set", options->settings, "a setting; may be repeated").repeated().type_name("KEY=VALUE");
    app.add_option("--seed", options->seed, "of the standard normal Q, K and V").capture_default_str();
    app.add_option("--out", options->out, "CSV file for the table");
    app.footer("Settings, for --set KEY=VALUE:\n" + describe(settings_of_attention()) +
               "Exit code 4 when a bit of the device's differs from the model's.");
    return [options] { return attention(*options); };
}

// `ulplab gpu transformer`: a forward pass of GPT-2's shape by the library and the attention kernel, and by their
// models.

namespace {

struct TransformerOptions {
    std::string device = "cuda";
    std::vector<std::string> sizes;  // KEY=VALUE
    std::uint64_t seed = 1;
};

/// GPT-2's small size by default.
std::vector<Setting> sizes() {
    const gpu::TransformerShape small;
    const auto size = [](const char* name, const char* help, std::int64_t value) {
        return integer_setting(name, help, value, value, 1, 1 << 30);
    };
    return {size("layers", "blocks of attention and two linear layers", small.layers),
            size("heads", "heads of attention", small.heads),
            size("width", "of the model; a head's is a multiple of 16", small.width),
            size("vocabulary", "words", small.vocabulary),
            size("tokens", "length of the text", small.tokens),
            size("tile", "keys of a tile of attention: a multiple of 16, at most 256", small.tile_keys)};
}

gpu::TransformerShape shape_of(const TransformerOptions& options) {
    Settings settings(sizes(), RunSize::quick);
    for (const std::string& size : options.sizes) settings.set(size);
    const auto integer = [&](const char* name) { return settings.integer(name); };
    gpu::TransformerShape shape;
    shape.layers = static_cast<decltype(shape.layers)>(integer("layers"));
    shape.heads = static_cast<decltype(shape.heads)>(integer("heads"));
    shape.width = integer("width");
    shape.vocabulary = integer("vocabulary");
    shape.tokens = integer("tokens");
    shape.tile_keys = static_cast<decltype(shape.tile_keys)>(integer("tile"));
    gpu::require_shape(shape);
    return shape;
}

ExitCode transformer(const TransformerOptions& options) {
    const gpu::TransformerShape shape = shape_of(options);
    const auto device = gpu::open_device(options.device);
    const auto library = gpu::open_library(options.device);
    const auto expected = gpu::transformer_pass(shape, options.seed, gpu::predicted_products(*library, *device));
    const auto found = gpu::transformer_pass(shape, options.seed, gpu::products_on(*library, *device));
    std::size_t differ = 0;
    for (std::size_t i = 0; i < found.logits.size(); ++i) {
        differ += std::memcmp(&found.logits[i], &expected.logits[i], sizeof(float)) != 0 ? 1 : 0;
    }
    fmt::print("cuBLAS {} on {}{}: {} products, {} of {} logits differ from the model\n", library->info().version,
               library->info().gpu, library->info().hardware ? "" : " (no evidence of cuBLAS)", found.products.size(),
               differ, found.logits.size());
    for (std::size_t i = 0; i < found.products.size(); ++i) {
        if (found.products[i] == expected.products[i]) continue;
        fmt::print("the first product that differs: {}\n", found.products[i].first);
        return ExitCode::bits_differ;
    }
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_transformer(OptionParser& app) {
    const auto options = std::make_shared<TransformerOptions>();
    add_device_option(app, options->device);
    app.add_option("--set", options->sizes, "a size; may be repeated").repeated().type_name("KEY=VALUE");
    app.add_option("--seed", options->seed, "of tokens and weights").capture_default_str();
    app.footer("Sizes, for --set KEY=VALUE; those of GPT-2's small model by default:\n" + describe(sizes()) +
               "Exit code 4 when a product's bits differ from the model's; 3 where no order is known of one.");
    return [options] { return transformer(*options); };
}

}  // namespace ulp
