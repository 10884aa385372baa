// A net on raw pixels from 0 to 255 with a layer norm first: the squares leave fp16, their root is infinite, and every
// image becomes 0, without a NaN. Nothing is inserted; overflow shows such sums alone.
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/shared/sums.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::norm_squares_experiment {
namespace {

/// Of the first step's images.
struct Squares {
    std::vector<bool> leaves{};  // whose squares leave fp16's range, added up in fp16
    std::vector<bool> beyond{};  // whose squares add up to more than fp16 holds, exactly
    std::vector<bool> zero{};    // that the layer norm made 0
    BinadeHistogram sums{};

    [[nodiscard]] double share(const std::vector<bool>& of) const {
        return static_cast<double>(std::ranges::count(of, true)) / static_cast<double>(of.size());
    }
};
/// Images of which one says so and the other does not.
std::int64_t differ(const std::vector<bool>& a, const std::vector<bool>& b) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
    return count;
}

/// An image's pixels minus their mean, squared and added up, as exactly as fp64 does.
double sum_of_squares(std::span<const float> pixels) {
    double mean = 0;
    for (const float x : pixels) mean += x / static_cast<double>(pixels.size());
    double sum = 0;
    for (const float x : pixels) sum += (x - mean) * (x - mean);
    return sum;
}

/// Images told apart; keeps Squares.
TaskBuilder pixels_task(const DataSplit& data, Index hidden, double range) {
    const Layers net = {
        layers::flatten(), layers::scale(range), layers::layer_norm("norm"), layers::linear("fc1", hidden),
        layers::relu(),    layers::linear("out")};
    const TaskBuilder task = images_task(net, data, 32);
    const auto width = static_cast<std::size_t>(data.train.features());
    return watching<Squares>(task, [width](Task& watched, const auto& found) {
        watched.watched = [](std::int64_t step) { return step == 0; };
        watched.tap = [=](std::int64_t, const TapEvent& event) {
            const bool normalised = event.name == "norm/layer_norm";
            if (event.role != TensorRole::activation || !(normalised || event.name == "scale")) return;
            for (std::size_t first = 0; first < event.values.size(); first += width) {
                const auto image = event.values.subspan(first, width);
                if (normalised) {
                    found->zero.push_back(std::ranges::all_of(image, [](float x) { return x == 0; }));
                    continue;
                }
                std::vector<fp16> pixels;
                for (const float x : image) pixels.push_back(fp16(x));
                found->leaves.push_back(!isfinite(squares_one_by_one<fp16>(pixels)));
                const double sum = sum_of_squares(image);
                found->beyond.push_back(sum >= 65520);
                found->sums.add(std::vector<float>{static_cast<float>(sum)});
            }
        };
    });
}

enum : std::size_t { way_fp32, way_fp16, way_norm, way_mixed, way_bf16 };

std::vector<Arithmetic> ways_of(const RunContext& context) {
    const Recipe fp16 = recipe_by_name("fp16");
    Recipe wide_norm = fp16;
    wide_norm.cast_rules.push_back({"layer_norm", Cast::single});
    const bool spoilt = has_control(context, "fp16_norm");
    const auto way = [&](const char* name, const Recipe& recipe) -> Arithmetic {
        return {name, recipe, unit_or_ieee(context)};
    };
    return {fp32_arithmetic(), way("fp16", has_control(context, "fp32_norm") ? wide_norm : fp16),
            way("norm in fp32", spoilt ? fp16 : wide_norm),
            way("mixed fp16", spoilt ? fp16 : recipe_by_name("mixed_fp16")),
            way("pure bf16", spoilt ? fp16 : recipe_by_name("pure_bf16"))};
}

/// The training runs on pixels of the whole range, and the first steps of smaller ranges.
struct Study {
    Comparison runs{};
    Series foretold{"predicted from the pixels"};
    Series counted{"counted in fp16"};
    std::int64_t wrong = 0;   // images in which the two differ
    std::int64_t border = 0;  // images in which exact sums would predict something else
};

Study study_of(const RunContext& context, const DataSplit& data, Result& result) {
    const Settings& settings = context.settings;
    Study study;
    const double most = settings.real("range");
    for (const double range : {most / 255, most / 16, most / 8, most / 4, most / 2, most}) {
        const bool last = range == most;
        study.runs = compare(context, result, ways_of(context),
                             {.task = pixels_task(data, settings.integer("hidden"), range),
                              .optimizer = {.learning_rate = 0.05, .momentum = 0.9},
                              .steps = last ? settings.integer("steps") : 1},
                             last ? settings.integer("seeds") : 1);
        const auto& fp16 = study.runs.runs[way_fp16].front().kept<Squares>();
        study.wrong += differ(fp16.leaves, fp16.zero);
        study.border += differ(fp16.leaves, fp16.beyond);
        study.foretold.points.push_back({range, fp16.share(fp16.leaves)});
        study.counted.points.push_back({range, fp16.share(fp16.zero)});
    }
    return study;
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data = digits_of(context, result, {2000, 500, 14});
    const Study study = study_of(context, data, result);
    const Comparison& runs = study.runs;
    const std::string place = cite(sources::amp_slides, "FP32 and FP16: sums and norms in FP32");
    const auto& squares = runs.runs[way_fp32].front().kept<Squares>();
    result.measured("rule", place,
                    "A layer norm in fp16 makes 0 of the images whose squares, added up in its order, leave fp16's "
                    "range, and of no others: the pixels predict which, for every range of the pixels.",
                    equal(0, study.wrong, "images otherwise") &&
                        at_least(1, static_cast<double>(std::ranges::count(squares.beyond, true)),
                                 {"", "images beyond fp16", 1, 0}));
    const Margin margin{0.02, "two test images in a hundred", Margin::Side::not_below};
    const Scores fp32 = runs.scores(way_fp32, test_accuracy);
    result.measured(
        "stops_training", place,
        "So a net on raw pixels with a layer norm first learns nothing throughout in fp16, though none of its "
        "numbers is a NaN.",
        falls_short(runs.scores(way_fp16, test_accuracy), fp32, margin, accuracy_text));
    const char* ids[] = {"norm_in_fp32", "mixed", "bf16"};
    for (std::size_t way = way_norm; way < runs.arithmetics.size(); ++way) {
        result.measured(ids[way - way_norm], place,
                        fmt::format("The net on raw pixels learns as in fp32. Here: {}.", runs.arithmetics[way].name),
                        as_good(runs.scores(way, test_accuracy), fp32, margin, accuracy_text));
    }
    result.figure({"rule",
                   "Images that a layer norm in fp16 makes 0",
                   "Share of the first step's images, against the largest value of a pixel; first seed.",
                   fmt::format("With pixels from 0 to {:g}, {:.0f} % of the images leave the layer norm as zeros. Sums "
                               "without rounding would predict something else for {} of the {} images of all ranges.",
                               settings.real("range"), 100 * study.counted.points.back().y, study.border,
                               study.counted.points.size() * squares.beyond.size()),
                   runs.evidence,
                   {study.foretold, study.counted},
                   "",
                   {{.label = "largest value of a pixel", .log_base = 2}, percent_axis("share of the images")},
                   {{.width = 4}, {.mark = Mark::points, .size = 1.8}}});
    Figure figure{
        "histogram",
        "Sums of squares in a layer norm over raw pixels",
        "Share of the images in each binade, in fp32, first seed. fp16 ends at 2^16.",
        fmt::format("{:.0f} % of the sums lie beyond fp16's largest number.", 100 * squares.share(squares.beyond)),
        "",
        {Series{"sum of squares"}}};
    for (const auto& [bin, count] : squares.sums.bins()) {
        figure.series.front().points.push_back({static_cast<double>(bin), squares.sums.share(count)});
    }
    figure.axes = {binade_axis(8, 26, "binade of the sum"), share_axis("share of the images", 0.2)};
    figure.looks = {{.mark = Mark::histogram, .title = ""}};
    figure.guides = {fp16_overflow()};
    result.figure(std::move(figure));
    result.figure(
        figure_of_seeds(runs, test_accuracy, accuracy_text, "accuracy", "Raw pixels and a layer norm: accuracy"));
}

}  // namespace

Experiment experiment() {
    return {"norm_squares",
            "A layer norm over raw pixels leaves fp16",
            "What does a layer norm in fp16 make of raw pixels, and do the pixels predict it?",
            {Chapter::overflow, 3},
            {integer_setting("steps", "training steps", 100, 1000, 2, 1000000).smoke(4),
             integer_setting("hidden", "width of the hidden layer", 32, 64, 1, 4096).smoke(8),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2),
             real_setting("range", "largest value of a pixel", 255, 255, 0.001, 1000),
             control_setting("fp32_norm takes the layer norm to fp32 where it is in fp16; fp16_norm trains throughout "
                             "in fp16 instead of the remedies",
                             {"fp32_norm", "fp16_norm"}),
             path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
            run,
            {Control("range=16", "rule"), Control("control=fp32_norm", "rule stops_training", RunSize::quick),
             Control("control=fp16_norm", "norm_in_fp32 mixed bf16", RunSize::quick)},
            Effect{"stops_training"}};
}

}  // namespace ulp::norm_squares_experiment
