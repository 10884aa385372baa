// A U-Net says of each pixel whether it belongs to a shape: does it train equally well in mixed precision?
#include "engine/data/generated.hpp"
#include "engine/nets/blocks.hpp"
#include "engine/nets/shape_detector.hpp"
#include "experiments/training/figures.hpp"
#include "softfloat/errors.hpp"

namespace ulp::segmentation_experiment {
namespace {

constexpr Index classes = 2;  // the ground and the shape
constexpr std::size_t overlap = 0;
constexpr std::size_t shown = 8;
const Quantity overlap_text{"overlap of what is said with what is there", "%", 100, 1};

/// What the pixels of some scenes are, image by image: 0 the ground, 1 the shape.
std::vector<int> labels_of(const Scenes& scenes, const std::vector<Index>& which) {
    const Index pixels = scenes.images.width * scenes.images.height;
    std::vector<int> labels;
    for (const Index i : which) {
        labels.insert(labels.end(), scenes.inked.begin() + i * pixels, scenes.inked.begin() + (i + 1) * pixels);
    }
    return labels;
}

/// Scores of ground and shape, (pixels of all images, 2).
Var scores_of(const UNet& net, Tape& tape, const Scenes& scenes, const std::vector<Index>& which) {
    const Var said = permute(net(centred_on(tape, scenes.images, which, 2)), {0, 2, 3, 1});
    return reshape(said, {said.value().size() / classes, classes});
}

/// The likeliest kind of each pixel of all scenes.
std::vector<int> said_of(Evaluation& evaluation, const UNet& net, const Scenes& scenes) {
    std::vector<int> said;
    for (Index first = 0; first < scenes.images.size(); first += 50) {
        Tape tape(evaluation);
        const std::vector<Index> which = index_range(first, std::min(first + 50, scenes.images.size()));
        const Tensor& scores = scores_of(net, tape, scenes, which).value();
        for (const float* row = scores.data(); row != scores.data() + scores.size(); row += classes) {
            said.push_back(static_cast<int>(std::max_element(row, row + classes) - row));
        }
    }
    return said;
}

/// The overlap of the best threshold: all pixels whose colours add up to more are said to be of a shape.
double overlap_of_threshold(const Scenes& scenes, const std::vector<int>& truth) {
    const auto pixels = static_cast<std::size_t>(scenes.images.width * scenes.images.height);
    std::vector<int> lightness(truth.size());
    for (std::size_t i = 0; i < truth.size(); ++i) {
        const std::uint8_t* red = scenes.images.pixels.data() + i / pixels * 3 * pixels + i % pixels;
        lightness[i] = red[0] + red[pixels] + red[2 * pixels];
    }
    double best = 0;
    for (int threshold = 0; threshold < 3 * 255; threshold += 5) {
        std::vector<int> said;
        for (const int light : lightness) said.push_back(light > threshold ? 1 : 0);
        best = std::max(best, mean_overlap(said, truth));
    }
    return best;
}

struct Split {
    Scenes train, test;
};

/// What a net says of every pixel of the test scenes.
using Said = std::vector<int>;

/// Keeps Said.
TaskBuilder pixels_task(const Settings& settings, const Split& data) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const UNet net(model, 3, settings.integer("channels"), classes, true);
        const Index count = data.train.images.size();
        const auto order = batches(count, std::min<Index>(count, settings.integer("batch")), seed);
        const auto loss = [=, &data](Tape& tape, std::int64_t step) {
            const std::vector<Index> which = order(step);
            return cross_entropy(scores_of(net, tape, data.train, which), labels_of(data.train, which));
        };
        return {.loss = loss, .measure = [=, &data](Evaluation& evaluation, Learned& learned) {
                    const Said said = said_of(evaluation, net, data.test);
                    const Said truth = labels_of(data.test, index_range(0, data.test.images.size()));
                    learned.scores = {mean_overlap(said, truth)};
                    learned.more = said;
                }};
    };
}

/// The share of pixels of which two nets say different things.
double difference(const Learned& one, const Learned& other) {
    const Said& a = one.kept<Said>();
    const Said& b = other.kept<Said>();
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] == b[i] ? 0 : 1;
    return sum / static_cast<double>(a.size());
}

void claim_pixels(const Comparison& comparison, const std::string& place, Result& result) {
    const std::vector<Learned>& fp32 = comparison.runs.front();
    double by_rounding = 0;
    for (std::size_t s = 0; s < fp32.size(); ++s) {
        by_rounding += difference(fp32[s], comparison.runs.back()[s]) / static_cast<double>(fp32.size());
    }
    std::vector<double> by_chance;
    for (std::size_t s = 0; s < fp32.size(); ++s) {
        for (std::size_t other = 0; other < s; ++other) by_chance.push_back(difference(fp32[s], fp32[other]));
    }
    const Quantity pixels{"pixels", "%", 100, 2};
    const Check one_seed{"at most what two seeds disagree on",
                         pixels.text(by_rounding) + "; at least 2 seeds would tell", Outcome::undecided};
    result.measured("pixels", place,
                    "Nets of one seed in fp32 and in mixed precision disagree on no more pixels than two fp32 nets of "
                    "different seeds do.",
                    by_chance.empty() ? one_seed : at_most(mean_of(by_chance), by_rounding, pixels));
}

/// How many pixels each net of the first seed gets wrong, and how many of them both do.
std::string text_of_errors(const Comparison& comparison, const Said& truth) {
    const Said& fp32 = comparison.runs.front().front().kept<Said>();
    const Said& mixed = comparison.runs.back().front().kept<Said>();
    std::size_t wrong[2] = {0, 0};
    std::size_t both = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
        wrong[0] += fp32[i] != truth[i] ? 1 : 0;
        wrong[1] += mixed[i] != truth[i] ? 1 : 0;
        both += fp32[i] != truth[i] && mixed[i] != truth[i] ? 1 : 0;
    }
    return fmt::format("Of all {} pixels of the test set fp32 gets {} wrong and mixed precision {}; {} are the same.",
                       truth.size(), wrong[0], wrong[1], both);
}

/// What is said of the first scenes, as pictures: light ground, dark shapes.
Series picture_of(const char* name, const Said& said, std::size_t scenes, Index side) {
    constexpr std::array<std::array<std::uint8_t, 3>, classes> colours = {{{240, 240, 240}, {0, 114, 178}}};
    const auto plane = static_cast<std::size_t>(side * side);
    std::vector<std::uint8_t> pixels(3 * plane * scenes);
    for (std::size_t i = 0; i < plane * scenes; ++i) {
        for (std::size_t c = 0; c < 3; ++c) {
            pixels[(i / plane * 3 + c) * plane + i % plane] = colours.at(static_cast<std::size_t>(said[i])).at(c);
        }
    }
    return colour_sheet(name, pixels, side);
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const auto count = settings.integer("train_images");
    const auto tests = settings.integer("test_images");
    const auto side = settings.integer("side");
    if (side % 4 != 0)
        throw UsageError(fmt::format("side={} is not a multiple of 4, as the net's two pools need", side));
    const Scenes scenes =
        generated_scenes({.count = count + tests, .side = side, .seed = context.seed, .noise = 20, .lighter = 45});
    result.input({"generated scenes for training and testing", scenes.images.digest()});
    const Split data{scenes.slice(0, count), scenes.slice(count, tests)};
    const std::vector<Arithmetic> arithmetics = under_control(context, {fp32_arithmetic(), dynamic_fp16(context)});
    const Training training{.task = pixels_task(settings, data),
                            .optimizer = adam_of(settings),
                            .steps = settings.integer("steps"),
                            .schedule = linear_decay_factor};
    const Comparison comparison = compare(context, result, arithmetics, training, settings.integer("seeds"));
    const std::string place = cite(sources::paperspace,
                                   "Each of the mentioned models converge equally when used between the mixed "
                                   "precision and vanilla network: UNet");
    const std::vector<int> truth = labels_of(data.test, index_range(0, tests));
    const double learned = comparison.mean(0, overlap);
    result.measured(
        "learns", place,
        "The U-Net learns in fp32 to tell the pixels of a shape from those of the ground, nineteen of twenty and more "
        "than the best threshold of their lightness does.",
        at_least(0.95, learned, overlap_text) && above(overlap_of_threshold(data.test, truth), learned, overlap_text));
    const Margin margin{0.02, "about five of a scene's 256 pixels", Margin::Side::not_below};
    claim_parity(result, comparison, overlap, overlap_text, margin, "parity", place,
                 "Trained in mixed precision it tells them apart as well.", 1);
    claim_pixels(comparison, place, result);
    result.figure(figure_of_seeds(comparison, overlap, overlap_text, "overlap",
                                  "A U-Net on shapes: overlap of what it says with what is there"));
    result.figure(figure_of_losses(comparison, 10, "loss", "A U-Net on shapes: training loss"));
    Figure pictures{"pictures", "Scenes of the test set, and what the nets say of each pixel",
                    fmt::format("{0} x {0} pixels; first seed. Dark: said to belong to a shape.", side), "",
                    comparison.evidence};
    const std::size_t drawn = std::min(shown, static_cast<std::size_t>(tests));
    const auto bytes = static_cast<std::size_t>(data.test.images.features()) * drawn;
    pictures.series = {colour_sheet("scenes", std::span(data.test.images.pixels).first(bytes), side),
                       picture_of("truth", truth, drawn, side),
                       picture_of("fp32", comparison.runs.front().front().kept<Said>(), drawn, side),
                       picture_of("mixed", comparison.runs.back().front().kept<Said>(), drawn, side)};
    pictures.meaning = text_of_errors(comparison, truth);
    show_as_rows(pictures, side);
    result.figure(std::move(pictures));
}

}  // namespace

Experiment experiment() {
    return {"segmentation",
            "Segmentation: a U-Net tells shapes from the ground",
            "Does a U-Net train equally well in mixed precision, pixel by pixel?",
            {Chapter::systems, 10},
            {integer_setting("steps", "training steps", 120, 400, 2, 1000000).smoke(6),
             integer_setting("batch", "scenes a step", 8, 16, 1, 4096),
             integer_setting("side", "pixels of a scene's side, a multiple of 4", 16, 24, 8, 256),
             integer_setting("channels", "of the first level", 4, 8, 1, 256),
             integer_setting("train_images", "generated scenes to train on", 1500, 4000, 1, 1000000).smoke(96),
             integer_setting("test_images", "generated scenes to test on", 100, 400, 1, 100000).smoke(20),
             integer_setting("seeds", "runs of each arithmetic", 3, 8, 1, 100).smoke(2),
             integer_setting("scale_window", "clean steps until the loss scale grows", 30, 100, 1, 1000000),
             real_setting("learning_rate", "of Adam, falling linearly to 0", 1e-2, 1e-2, 0, 10), mixed_control()},
            run,
            {Control("control=scale_2^-12", "parity pixels", RunSize::quick),
             Control("learning_rate=0", "learns parity", RunSize::quick)}};
}

}  // namespace ulp::segmentation_experiment
