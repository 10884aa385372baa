#include "experiments/training/gram_matrix.hpp"

#include <numeric>

#include "engine/nets/blocks.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/training.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

constexpr Index pictures_of_step = 16;

/// Two layers of features, the mean of each map, and a score for each of four directions.
struct DirectionNet {
    Parameter* first;
    Parameter* second;
    Linear out;

    explicit DirectionNet(Model& model)
        : first(&model.add("first.weight", {8, 3, 3, 3}, Init::fan_in(27))),
          second(&model.add("second.weight", {16, 8, 3, 3}, Init::fan_in(72))),
          out(model, "out", 16, 4) {}

    Var operator()(Var images) const {
        Var x = texture_maps(images, on_tape(images, first));
        x = texture_maps(x, on_tape(images, second));
        return out(reshape(avg_pool2d(x, x.dim(2)), {x.dim(0), x.dim(1)}));
    }
};

TaskBuilder directions_task(const Dataset& train, const Dataset& test) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const DirectionNet net(model);
        const auto order = batches(train.size(), std::min(pictures_of_step, train.size()), seed);
        const auto scores = [=](Tape& tape, const Dataset& data, const std::vector<Index>& which) {
            return net(centred_on(tape, data, which, 1));
        };
        return {.loss =
                    [=, &train](Tape& tape, std::int64_t step) {
                        const std::vector<Index> which = order(step);
                        return cross_entropy(scores(tape, train, which), batch_of(train, which).labels);
                    },
                .measure =
                    [=, &test](Evaluation& evaluation, Learned& learned) {
                        Tape tape(evaluation);
                        const std::vector<Index> which = index_range(0, test.size());
                        const Tensor found = scores(tape, test, which).value();
                        double right = 0;
                        for (const Index i : which) {
                            const float* row = found.data() + 4 * i;
                            const auto best = std::max_element(row, row + 4) - row;
                            right += best == test.labels[static_cast<std::size_t>(i)] ? 1 : 0;
                        }
                        learned.scores = {right / static_cast<double>(test.size())};
                    }};
    };
}

double mean_square(const Tensor& x) {
    double sum = 0;
    for (const float v : x.values()) sum += static_cast<double>(v) * static_cast<double>(v);
    return sum / static_cast<double>(x.size());
}

/// Scales the kernel so that its maps of these inputs have this mean square together, and returns the maps. One factor
/// for all: a map that the training left nearly dead stays small.
Tensor scale_to(double square, Var images, Tensor& kernel) {
    Tensor maps = texture_maps(images, images.tape->input(kernel)).value();
    const auto factor = static_cast<float>(std::sqrt(square / mean_square(maps)));
    for (Index i = 0; i < maps.size(); ++i) maps[i] *= factor;
    for (Index i = 0; i < kernel.size(); ++i) kernel[i] *= factor;
    return maps;
}

}  // namespace

Var texture_maps(Var images, Var kernel) {
    const Var no_bias = reshape(images_on(*images.tape, Matrix::Zero(1, kernel.dim(0))), {kernel.dim(0)});
    return relu(conv2d(images, kernel, no_bias, {.stride = 2, .padding = 1}));
}

Var TextureFeatures::difference(Var images, Var wanted) const {
    Tape& tape = *images.tape;
    const Var kernels[] = {tape.input(first), tape.input(second)};
    std::vector<Var> differences;
    for (const Var& kernel : kernels) {
        images = texture_maps(images, kernel);
        wanted = texture_maps(wanted, kernel);
        differences.push_back(mse(images, wanted.value()));
    }
    return add(differences[0], differences[1]);
}

TextureFeatures trained_texture_features(const Dataset& train, const Dataset& test, std::int64_t steps,
                                         std::uint64_t seed) {
    TrainingRun run({.arithmetic = fp32_arithmetic(),
                     .task = directions_task(train, test),
                     .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 2e-2},
                     .steps = steps,
                     .schedule = linear_decay_factor},
                    seed);
    for (std::int64_t step = 0; step < steps; ++step) run.step();
    Model& model = run.trainer().model();
    TextureFeatures found{model["first.weight"].value, model["second.weight"].value, run.measured().scores.front()};
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Var images = centred_on(tape, test, index_range(0, test.size()), 1);
    const double square = mean_square(images.value());
    scale_to(square, tape.input(scale_to(square, images, found.first)), found.second);
    return found;
}

namespace {

double sum_of_squares(std::span<const float> values) {
    return std::accumulate(values.begin(), values.end(), 0.0,
                           [](double sum, float f) { return sum + static_cast<double>(f) * static_cast<double>(f); });
}

}  // namespace

Var style_maps_of(Var images, const Tensor& kernel, double range) {
    const Var pixels = scaled(images, range);
    const Var found = texture_maps(pixels, images.tape->input(kernel));
    return reshape(found, {found.dim(0), found.dim(1), found.dim(2) * found.dim(3)});
}

Var gram_of(Var maps, Division division) {
    const auto pixels = static_cast<double>(maps.dim(2));
    if (division == Division::after_product) return scaled(matmul(maps, maps, true), 1 / pixels);
    const Var divided = scaled(maps, 1 / std::sqrt(pixels));
    return matmul(divided, divided, true);
}

std::vector<float> largest_map(const std::vector<Tensor>& pictures) {
    std::vector<std::vector<float>> maps(static_cast<std::size_t>(pictures.front().dim(1)));
    for (const Tensor& found : pictures) {
        const Index pixels = found.size() / found.dim(0) / found.dim(1);
        for (Index i = 0; i < found.size(); ++i) {
            maps[static_cast<std::size_t>(i / pixels % found.dim(1))].push_back(round_to(formats::fp16, found[i]));
        }
    }
    return *std::max_element(maps.begin(), maps.end(),
                             [](const auto& a, const auto& b) { return sum_of_squares(a) < sum_of_squares(b); });
}

double GramEntry::exact(std::size_t pixels) const { return sum_of_squares(map.first(pixels)); }

float GramEntry::summed(std::size_t pixels, const ProductTypes& types) const {
    return dot(*unit, types, map.first(pixels), map.first(pixels));
}

float GramEntry::in_storage(std::size_t pixels) const { return round_to(stored, summed(pixels)); }

std::size_t GramEntry::first(const std::function<bool(std::size_t)>& large) const {
    std::size_t below = 0;
    std::size_t above = map.size() + 1;
    while (above - below > 1) {
        const std::size_t middle = (below + above) / 2;
        (large(middle) ? above : below) = middle;
    }
    return above;
}

std::size_t GramEntry::first_infinite() const {
    return first([&](std::size_t pixels) { return std::isinf(in_storage(pixels)); });
}

namespace {

/// The lines of the figure: partial sums over 16, 32, 64 ... pixels.
Series partial_sums(std::string name, std::size_t most, const std::function<double(std::size_t)>& sum) {
    Series series{std::move(name), formats::fp64, {}};
    for (std::size_t n = 16; n <= most; n *= 2) series.points.push_back({static_cast<double>(n), sum(n)});
    return series;
}

}  // namespace

void gram_overflow(const RunContext& context, std::span<const float> trained_map, std::span<const float> byte_map,
                   Result& result) {
    const bool wide = has_control(context, "wide");
    const std::vector<MatrixUnit> units = matrix_units(context);
    const auto asked = std::ranges::find(units, mixed_backend(context), &MatrixUnit::spec);
    const std::vector<MatrixUnit> all = {units[0], units[1], units[2]};
    std::string evidence = evidence_of({*asked}, {fp16_to_fp32}, result);  // in this order, on any compiler
    evidence += " " + evidence_of(all, {fp16_to_fp16}, result);
    const ProductTypes narrow = wide ? fp16_to_fp32 : fp16_to_fp16;
    const GramEntry trained{trained_map, asked->backend.get(), wide ? formats::fp32 : formats::fp16};
    const GramEntry bytes{byte_map, trained.unit, trained.stored};
    const std::size_t pixels = trained.map.size();
    const std::string place = cite(sources::volta_talk, "Image inpainting: U-Net with partial convolution, style loss");

    const float in_fp32 = trained.summed(pixels);
    const auto beyond = [](const GramEntry& gram) {
        return gram.first([&](std::size_t n) { return gram.exact(n) >= 65520; });
    };
    const Quantity pixel{"pixel", "pixels", 1, 0};
    result.measured(
        "gram_stored", place,
        fmt::format("The Gram matrix of the trained net's first layer over {} pixels is infinite where it is stored in "
                    "fp16 before it is divided, and not in fp32. Exactly summed it reaches 65520 at pixel {}.",
                    pixels, beyond(trained)),
        is(std::isfinite(in_fp32), "finite in fp32", fmt::format("{:.0f} in fp32", in_fp32)) &&
            at_most(static_cast<double>(pixels), static_cast<double>(trained.first_infinite()), pixel).at("in fp16"));
    result.measured("gram_bytes", place,
                    "Made from pixels as bytes, as VGG16 of Caffe takes them, it overflows within one texture of 32 x "
                    "32 pixels, which is 256 behind the first layer.",
                    at_most(256, static_cast<double>(bytes.first_infinite()), pixel));
    // At 1.5 * 2^15 the numbers of fp16 lie 32 apart: most addends are less than half of that.
    const std::size_t near_end =
        std::min(pixels, trained.first([&](std::size_t n) { return trained.exact(n) >= 49152; }));
    const double sum = trained.exact(near_end);
    const Quantity share{"share", "%", 100, 1};
    std::vector<double> shares;
    for (const MatrixUnit& unit : all) {
        const GramEntry gram{trained.map, unit.backend.get(), trained.stored};
        shares.push_back(static_cast<double>(gram.summed(near_end, narrow)) / sum);
    }
    result.measured("gram_swamps", place,
                    fmt::format("Accumulated in fp16 on {} the sum falls short long before it overflows: small addends "
                                "are swamped. Share of {:.0f}.",
                                all[0].name, sum),
                    below(0.99, shares[0], share));
    result.measured(
        "gram_swamps_less", place,
        "Units that add more products before they round lose less: 4 on V100, 8 on A100, 16 on H100.",
        is(shares[1] - shares[0] > 0.01 && shares[2] - shares[1] > 0.01, "each share a point above the one before",
           fmt::format("{}, {}, {}", share.text(shares[0]), share.text(shares[1]), share.text(shares[2]))));
    const double factor = has_control(context, "after") ? 1 : 1 / std::sqrt(static_cast<double>(pixels));
    std::vector<float> divided(trained.map.begin(), trained.map.end());
    for (float& f : divided) f = round_to(formats::fp16, f * static_cast<float>(factor));
    const double mean = trained.exact(pixels) / static_cast<double>(pixels);
    const float after = GramEntry{divided, trained.unit, trained.stored}.in_storage(pixels);
    result.measured("gram_divided", place,
                    "Divided before the product, by the root of the number of pixels, it stays in fp16's range and is "
                    "as exact as fp16 allows: to 2^-9.",
                    near(mean, mean * 0x1p-9, static_cast<double>(after), {"entry", "", 1, 5}));

    Figure figure{"gram", "The largest entry of a Gram matrix, as pixels are added up",
                  "Sum of squares of one map, not yet divided by the number of pixels. Crosses: infinite.",
                  fmt::format("Stored in fp16 the sum is infinite after {} pixels for trained features, after {} for "
                              "pixels as bytes. Divided before the product the entry over all {} pixels is {:.3g}. "
                              "Where the sum is {:.0f}, fp16 accumulators have",
                              trained.first_infinite(), bytes.first_infinite(), pixels, after, trained.exact(near_end)),
                  evidence};
    figure.series.push_back(
        partial_sums("trained features in fp32", pixels, [&](std::size_t n) { return trained.summed(n); }));
    figure.series.push_back(
        partial_sums("stored in fp16", pixels, [&](std::size_t n) { return trained.in_storage(n); }));
    for (const MatrixUnit& unit : all) {
        const GramEntry gram{trained.map, unit.backend.get(), trained.stored};
        figure.series.push_back(partial_sums("accumulated in fp16 on " + unit.name, pixels,
                                             [&](std::size_t n) { return gram.summed(n, narrow); }));
        figure.meaning += fmt::format(" {:.0f} on {},", gram.summed(near_end, narrow), unit.name);
    }
    figure.meaning.back() = '.';
    figure.series.push_back(
        partial_sums("pixels as bytes in fp32", bytes.map.size(), [&](std::size_t n) { return bytes.summed(n); }));
    figure.series.push_back(
        partial_sums("bytes stored in fp16", bytes.map.size(), [&](std::size_t n) { return bytes.in_storage(n); }));
    figure.axes = {power_axis("pixels added up", 2), power_axis("largest entry", 2)};
    figure.axes.x.from = 16;
    figure.axes.x.to = 0x1p18;
    figure.axes.y.from = 4;
    figure.axes.y.to = 0x1p25;
    figure.axes.y.step = 16;
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
        const bool is_wide = i == 0 || i == 5;
        figure.looks.push_back({.mark = Mark::linespoints,
                                .width = is_wide ? 8.0 : 3.0,
                                .size = is_wide ? 0.01 : 0.7,
                                .beyond = std::exp2(25 - 0.55 * static_cast<double>(i + 1))});
    }
    figure.guides = {level(65504, "largest fp16 number 65504")};
    figure.notes = {{16, 0x1p22, "crosses: infinite"}};
    figure.key_rows = 4;
    result.figure(std::move(figure));
}

}  // namespace ulp
