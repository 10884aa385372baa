// `ulplab gpu attention`: fused attention on a device and by the model, and what the size of a tile changes.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/tensor/random.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "experiments/framework/settings.hpp"
#include "gpu/untried/attention.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

struct AttentionOptions {
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

    AttentionInputs(const AttentionOptions& options, const FloatFormat& format, std::int64_t length)
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

ExitCode attention(AttentionOptions options) {
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
    const auto options = std::make_shared<AttentionOptions>();
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

}  // namespace ulp
