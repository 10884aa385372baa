// A net fills holes in textures; its style loss multiplies features by themselves: where that leaves fp16's range.
#include "engine/data/generated.hpp"
#include "engine/nets/blocks.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/gram_matrix.hpp"
#include "experiments/training/partial_convolution.hpp"

namespace ulp::inpainting_experiment {
namespace {

constexpr Index side = 32;
constexpr std::size_t shown = 7;

/// 1, and 0 in three rectangles of 6 to 12 pixels a side.
Matrix with_holes(std::uint64_t seed, std::string_view stream, std::int64_t number) {
    Random random(seed, hash_of(stream) + static_cast<std::uint64_t>(number));
    Matrix there = Matrix::Ones(side, side);
    for (int hole = 0; hole < 3; ++hole) {
        const Index height = random.between(6, 12);
        const Index width = random.between(6, 12);
        const Index top = random.between(0, side - height);
        const Index left = random.between(0, side - width);
        there.block(top, left, height, width).setZero();
    }
    return there;
}

struct Options {
    std::int64_t steps;
    Index batch;
    Index channels;
    double learning_rate;
    double style_range = 1;  // of the pixels that the style's features are made of
    Division division = Division::before_product;
};

/// As Liu et al. have it: mean squared errors where pixels are there, six times those in the holes, of features (the
/// perceptual loss) and of their Gram matrices (the style loss).
Var loss_of(const InpaintingNet& net, Var images, const Matrix& there, const TextureFeatures& features,
            const Options& options) {
    const Matrix holes = (1 - there.array()).matrix();
    const Var filled = net(images, there);
    const auto error_in = [&](const Matrix& mask, double weight) {
        const Var wanted = masked(images, mask);
        return scaled(mse(masked(filled, mask), wanted.value()),
                      weight * static_cast<double>(mask.size()) / static_cast<double>(mask.sum()));
    };
    const Var seen = error_in(there, 1);
    const Var unseen = error_in(holes, 6);
    const Var wanted = gram_of(style_maps_of(images, features.first, options.style_range), options.division);
    const Var given = gram_of(style_maps_of(filled, features.first, options.style_range), options.division);
    const Var style = mse(given, wanted.value());
    const double square = options.style_range * options.style_range;
    const Var weighted = scaled(style, 4 / (square * square));
    const Var perceptual = scaled(features.difference(filled, images), 0.5);
    return add(add(seen, unseen), add(weighted, perceptual));
}

constexpr std::size_t hole_error = 0;
const Quantity error_text{"error in the holes, grey levels of 256", "", 1, 2};

/// What a run keeps.
struct Seen {
    std::vector<std::uint8_t> holed, filled;   // the first test pictures
    std::vector<float> trained_map, byte_map;  // the largest of the net's first layer, and of the style's over bytes
};

struct Textures {
    Dataset train, test;
    Dataset many;  // for Gram matrices
    TextureFeatures features;
};

std::uint8_t byte_of(float bright) {
    if (!(bright > -1)) return 0;  // NaN too
    return static_cast<std::uint8_t>(std::min(127.5F * (bright + 1) + 0.5F, 255.0F));
}

/// Fills the holes of pictures whose pixels lie from -1 to 1.
using Filler = std::function<Tensor(const std::vector<Index>& which, const Tensor& wanted, const Matrix& there)>;

/// Root of the mean squared error in the holes of the test pictures, in grey levels; `seen` keeps the first pictures.
double error_of(const Dataset& test, const Filler& fill, Seen& seen) {
    const Engine engine("fp32", "soft:ieee");
    double sum = 0;
    double count = 0;
    for (Index first = 0; first < test.size(); first += 10) {  // each ten with holes of their own
        const std::vector<Index> which = index_range(first, std::min(first + 10, test.size()));
        const Matrix there = with_holes(0, "test holes", first);
        Tape tape(engine);
        const Tensor wanted = centred_on(tape, test, which, 1).value();
        const Tensor filled = fill(which, wanted, there);
        for (Index i = 0; i < filled.size(); ++i) {
            const bool hole = there.data()[i % there.size()] == 0;
            if (seen.filled.size() < shown * static_cast<std::size_t>(test.features())) {
                seen.holed.push_back(byte_of(hole ? 1 : wanted[i]));
                seen.filled.push_back(byte_of(hole ? filled[i] : wanted[i]));
            }
            if (!hole) continue;
            const double error = 127.5 * (static_cast<double>(filled[i]) - static_cast<double>(wanted[i]));
            sum += error * error;
            count += 1;
        }
    }
    return std::sqrt(sum / count);
}

/// Each plane filled with the mean of what is there of it.
Tensor with_means(const Tensor& wanted, const Matrix& there) {
    Tensor filled(wanted.shape());
    const Index pixels = there.size();
    for (Index plane = 0; plane < wanted.size(); plane += pixels) {
        double sum = 0;
        double count = 0;
        for (Index i = 0; i < pixels; ++i) {
            sum += there.data()[i] * static_cast<double>(wanted[plane + i]);
            count += there.data()[i];
        }
        for (Index i = 0; i < pixels; ++i) filled[plane + i] = static_cast<float>(sum / count);
    }
    return filled;
}

/// The largest map over many pictures.
std::vector<float> largest_map(Evaluation& evaluation, const Dataset& pictures,
                               const std::function<Var(Var)>& maps_of) {
    std::vector<Tensor> maps;
    for (Index first = 0; first < pictures.size(); first += 64) {
        Tape tape(evaluation);
        maps.push_back(
            maps_of(centred_on(tape, pictures, index_range(first, std::min(first + 64, pictures.size())), 1)).value());
    }
    return largest_map(maps);
}

/// The run of seed `keeps_maps` keeps the largest maps too.
Training training_of(const Textures& textures, const Options& options,
                     std::optional<std::uint64_t> keeps_maps = std::nullopt) {
    const TaskBuilder builder = [=, &textures](Model& model, std::uint64_t seed) -> Task {
        const InpaintingNet net(model, options.channels);
        const auto order = batches(textures.train.size(), options.batch, seed);
        const auto loss = [=, &textures](Tape& tape, std::int64_t step) {
            const Var images = centred_on(tape, textures.train, order(step), 1);
            return loss_of(net, images, with_holes(seed, "holes", step), textures.features, options);
        };
        return {.loss = loss, .measure = [=, &textures](Evaluation& evaluation, Learned& learned) {
                    Seen seen;
                    if (seed == keeps_maps) {
                        seen.trained_map = largest_map(evaluation, textures.many, [&](Var images) {
                            return net.features(images, Matrix::Ones(side, side));
                        });
                        seen.byte_map = largest_map(evaluation, textures.many, [&](Var images) {
                            return style_maps_of(images, textures.features.first, 127.5);
                        });
                    }
                    const Filler fill = [&](const auto& which, const auto&, const Matrix& there) {
                        Tape tape(evaluation);
                        return net(centred_on(tape, textures.test, which, 1), there).value();
                    };
                    learned.scores = {error_of(textures.test, fill, seen)};
                    learned.more = seen;
                }};
    };
    return {.task = builder,
            .optimizer = {.kind = OptimizerKind::adam, .learning_rate = options.learning_rate},
            .steps = options.steps,
            .schedule = linear_decay_factor};
}

/// A few steps with a style loss made from bytes: what the place of one division does to a training.
void claim_order(const RunContext& context, const Textures& textures, Options options, Result& result) {
    options.steps = std::max<std::int64_t>(2, options.steps / 8);
    options.style_range = 127.5;
    const Arithmetic mixed =
        has_control(context, "wide") ? fp32_arithmetic() : mixed_arithmetic(context, "fp16", dynamic_loss_scale(2000));
    const auto infinite_steps = [&](const Arithmetic& arithmetic, Division division) {
        options.division = division;
        Training training = training_of(textures, options);
        training.arithmetic = arithmetic;
        const Learned run = train(training, context.seed);
        return std::count_if(run.losses.begin(), run.losses.end(), [](double loss) { return !std::isfinite(loss); });
    };
    const std::string place = cite(sources::volta_talk, "Reductions: FP32 math avoids overflows");
    const std::string steps = fmt::format("of {} steps with an infinite loss", options.steps);
    const Division before = has_control(context, "after") ? Division::after_product : Division::before_product;
    result.measured("order_fp16_after", place,
                    "With a style loss from bytes whose Gram matrix is divided after the product, no step of a "
                    "training in fp16 has a finite loss, whatever the loss scale.",
                    equal(options.steps, infinite_steps(mixed, Division::after_product), steps));
    result.measured("order_fp16_before", place, "Divided before the product, every step in fp16 has a finite loss.",
                    equal(0, infinite_steps(mixed, before), steps));
    result.measured(
        "order_fp32_after", place, "In fp32 the order does not matter: every step has a finite loss.",
        equal(0, infinite_steps(has_control(context, "narrow") ? mixed : fp32_arithmetic(), Division::after_product),
              steps));
}

/// Mean of the differences whatever their sign; the pictures are of one size.
double distance(std::span<const std::uint8_t> one, std::span<const std::uint8_t> other) {
    double sum = 0;
    for (std::size_t i = 0; i < one.size(); ++i) sum += std::abs(int{one[i]} - int{other[i]});
    return sum / static_cast<double>(one.size());
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const Index count = settings.integer("train_images");
    const Index tests = settings.integer("test_images");
    const Dataset all = generated_textures(
        {.count = count + tests + settings.integer("gram_images"), .side = side, .seed = context.seed, .periods = 2});
    result.input({"generated textures", all.digest()});
    const Dataset train = all.slice(0, count);
    const Dataset test = all.slice(count, tests);
    const Textures textures{train, test, all.slice(count + tests, settings.integer("gram_images")),
                            trained_texture_features(train, test, settings.integer("feature_steps"), context.seed)};
    const Options options{settings.integer("steps"), std::min(count, settings.integer("batch")),
                          settings.integer("channels"), settings.real("learning_rate")};
    const std::vector<Arithmetic> arithmetics = under_control(context, {fp32_arithmetic(), dynamic_fp16(context)});
    std::vector<Training> arms;
    for (const Arithmetic& arithmetic : arithmetics) {
        arms.push_back(training_of(textures, options, arms.empty() ? std::optional(context.seed) : std::nullopt));
        arms.back().arithmetic = arithmetic;
    }
    const Comparison comparison = compare(context, result, arms, settings.integer("seeds"), {0, 0.9});
    const Seen& fp32 = comparison.runs[0].front().kept<Seen>();
    const Seen& fp16 = comparison.runs[1].front().kept<Seen>();

    const std::string place = cite(sources::volta_talk, "Image inpainting: result");
    Seen unused;
    Seen smooth;
    const double means = error_of(
        textures.test, [](const auto&, const auto& wanted, const Matrix& there) { return with_means(wanted, there); },
        unused);
    const double borders = error_of(
        textures.test, [](const auto&, const auto& wanted, const Matrix& there) { return from_borders(wanted, there); },
        smooth);
    const double learned = comparison.mean(0, hole_error);
    result.measured("learns", place,
                    "The net fills holes in fp32 with at most half of the error of the mean of what is there, and with "
                    "less than nineteen twentieths of what a skin over the holes' borders has.",
                    at_most(0.5 * means, learned, error_text) && below(0.95 * borders, learned, error_text));
    result.measured("features", cite(sources::volta_talk, "Image inpainting: VGG16 based Perceptual loss + Style loss"),
                    "The net whose features the perceptual loss and the style loss compare has learnt to tell which of "
                    "four ways a texture's waves run.",
                    at_least(0.7, textures.features.accuracy, {"right", "%", 100, 0}));
    claim_parity(result, comparison, hole_error, error_text,
                 {0.5, "half of the step between grey levels", Margin::Side::not_above}, "parity", place,
                 "Trained in mixed precision it fills them as well.", 1);
    gram_overflow(context, fp32.trained_map, fp32.byte_map, result);
    claim_order(context, textures, options, result);
    result.figure(figure_of_seeds(comparison, hole_error, error_text, "error", "Textures filled: error in the holes"));
    Figure pictures{"pictures", "Textures: as they are, with holes, filled in fp32 and in mixed precision",
                    fmt::format("Test pictures of 32 x 32 pixels after {} steps; first seed.", options.steps), "",
                    comparison.evidence};
    const auto original =
        std::span(textures.test.pixels).first(std::min(textures.test.pixels.size(), fp32.holed.size()));
    pictures.series = {colour_sheet("original", original, side), colour_sheet("holes", fp32.holed, side),
                       colour_sheet("borders", smooth.filled, side), colour_sheet("fp32", fp32.filled, side),
                       colour_sheet("mixed", fp16.filled, side)};
    pictures.meaning = fmt::format(
        "Borders: a skin over each hole. Mean difference of the filled pictures, in steps of 256: fp16 from fp32 "
        "{:.1f}, fp32 from the original {:.1f}, borders from the original {:.1f}.",
        distance(fp16.filled, fp32.filled), distance(fp32.filled, original), distance(smooth.filled, original));
    show_as_rows(pictures, side);
    result.figure(std::move(pictures));
}

}  // namespace

Experiment experiment() {
    return {
        "inpainting",
        "Holes in textures, filled by a net",
        "Does a net that fills holes train as well in mixed precision, and where does its Gram matrix overflow?",
        {Chapter::systems, 11},
        {integer_setting("steps", "training steps", 70, 1200, 2, 1000000).smoke(16),
         integer_setting("batch", "textures a step", 3, 4, 1, 4096).smoke(2),
         integer_setting("channels", "of the first layer", 8, 12, 1, 256).smoke(4),
         integer_setting("train_images", "generated textures to train on", 480, 5000, 1, 1000000).smoke(32),
         integer_setting("test_images", "generated textures to test on", 40, 400, 4, 100000).smoke(10),
         integer_setting("gram_images",
                         "generated textures whose features the Gram matrix sums up, 256 pixels of each colour", 200,
                         350, 1, 100000)
             .smoke(171),
         integer_setting("feature_steps", "training steps of the net whose features are compared", 250, 1000, 1,
                         1000000)
             .smoke(10),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(1),
         integer_setting("scale_window", "clean steps until the loss scale grows", 30, 100, 1, 1000000),
         real_setting("learning_rate", "of Adam, falling linearly to 0", 1e-2, 5e-3, 0, 10),
         mixed_control("wide uses fp32 instead of fp16 in the Gram matrix, narrow fp16 instead of fp32; after divides "
                       "the Gram matrix after the product wherever it is divided before",
                       {"wide", "narrow", "after"})},
        run,
        {Control("control=wide", "gram_stored gram_bytes gram_swamps gram_swamps_less order_fp16_after"),
         Control("control=after", "gram_divided order_fp16_before"), Control("control=narrow", "order_fp32_after"),
         Control("control=pure_fp16", "parity", RunSize::smoke, "gram_images=4"),
         Control("control=scale_2^-16", "parity", RunSize::quick, "gram_images=4"),
         Control("learning_rate=0", "learns", RunSize::quick, "seeds=1 gram_images=4"),
         Control("feature_steps=1", "features", RunSize::quick, "seeds=1 gram_images=4 steps=2")}};
}

}  // namespace ulp::inpainting_experiment
