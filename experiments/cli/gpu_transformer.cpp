// `ulplab gpu transformer`: a forward pass of GPT-2's shape by the library and the attention kernel, and by their
// models.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/untried/transformer_pass.hpp"

namespace ulp {
namespace {

struct TransformerOptions {
    std::string device = "cuda";
    gpu::TransformerShape shape;
    std::uint64_t seed = 1;
};

ExitCode transformer(const TransformerOptions& options) {
    gpu::require_shape(options.shape);
    const auto device = gpu::open_device(options.device);
    const auto library = gpu::open_library(options.device);
    const auto expected =
        gpu::transformer_pass(options.shape, options.seed, gpu::predicted_products(*library, *device));
    const auto found = gpu::transformer_pass(options.shape, options.seed, gpu::products_on(*library, *device));
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
    gpu::TransformerShape& shape = options->shape;
    app.add_option("--layers", shape.layers, "GPT-2's small size is the default of all sizes").capture_default_str();
    app.add_option("--heads", shape.heads, "heads of attention").capture_default_str();
    app.add_option("--width", shape.width, "of the model; a head's is a multiple of 16").capture_default_str();
    app.add_option("--vocabulary", shape.vocabulary, "words").capture_default_str();
    app.add_option("--tokens", shape.tokens, "length of the text").capture_default_str();
    app.add_option("--tile", shape.tile_keys, "keys of a tile of attention: a multiple of 16, at most 256")
        .capture_default_str();
    app.add_option("--seed", options->seed, "of tokens and weights").capture_default_str();
    app.footer("Exit code 4 when a product's bits differ from the model's; 3 where no order is known of one.");
    return [options] { return transformer(*options); };
}

}  // namespace ulp
