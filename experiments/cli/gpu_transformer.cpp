// `ulplab gpu transformer`: a forward pass of GPT-2's shape by the library and the attention kernel, and by their
// models.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "experiments/cli/gpu_commands.hpp"
#include "experiments/framework/settings.hpp"
#include "gpu/untried/transformer_pass.hpp"

namespace ulp {
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
