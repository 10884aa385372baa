// A trained classifier run in 8-bit integers: how its ranges are chosen (calibration), and what it costs in accuracy.
#include <numeric>

#include "engine/data/generated.hpp"
#include "engine/nets/integer_net.hpp"
#include "engine/training/images.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "experiments/training/comparison.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::int8_inference_experiment {
namespace {

using namespace integers;

constexpr std::array<Index, 3> batch_counts = {5, 10, 50};

/// How many classes stand before the label, of equals the first ones: 0 is right, below 5 is right among the first
/// five.
Index rank_of(std::span<const float> logits, Index label) {
    Index before = 0;
    for (Index i = 0; i < static_cast<Index>(logits.size()); ++i) {
        const float other = logits[static_cast<std::size_t>(i)];
        const float own = logits[static_cast<std::size_t>(label)];
        before += other > own || (other == own && i < label) ? 1 : 0;
    }
    return before;
}

/// The share of images whose label is among the five largest logits.
double top_five(Evaluation& evaluation, const Net& net, const Dataset& data) {
    Tape tape(evaluation);
    const Batch all = batch_of(data, index_range(0, data.size()));
    const Tensor& logits = net(images_on(tape, all.images)).value();
    const auto classes = static_cast<std::size_t>(logits.dim(1));
    Index right = 0;
    for (std::size_t i = 0; i < all.labels.size(); ++i) {
        right += rank_of(logits.values().subspan(i * classes, classes), all.labels[i]) < 5 ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(data.size());
}

/// The inputs of the three layers over the calibration images, from the net in fp32.
std::array<std::vector<float>, layer_count> activations(Evaluation& evaluation, const Net& net, const Batch& batch) {
    Tape tape(evaluation);
    const Var image = images_on(tape, batch.images);
    const Var seen[] = {image, net.until(image, 3), net.until(image, 6)};  // each pool is the third layer
    std::array<std::vector<float>, layer_count> result;
    for (std::size_t i = 0; i < layer_count; ++i)
        result[i].assign(seen[i].value().values().begin(), seen[i].value().values().end());
    return result;
}

/// A number for each calibration: [count][method].
using ByCalibration = std::array<std::array<double, methods.size()>, batch_counts.size()>;

/// Everything measured on one trained net; `fp32` before it is quantised, in the arithmetic of its training.
struct Quantisation {
    double fp32 = 0, fp32_top5 = 0;
    ByCalibration accuracies{}, top5{};
    std::array<std::array<Thresholds, methods.size()>, batch_counts.size()> thresholds{};
    std::vector<Magnitudes> magnitudes;  // of the last calibration
};

Quantisation quantise(Evaluation& evaluation, const Net& net, Model& model, const DataSplit& data,
                      const std::function<std::vector<Index>(std::int64_t)>& order, double shrink,
                      std::size_t first_count) {
    Quantisation q;
    q.fp32 = accuracy(evaluation, net, data.test);
    q.fp32_top5 = top_five(evaluation, net, data.test);
    const IntegerNet integer(model);
    std::array<std::vector<float>, layer_count> seen;
    Index taken = 0;
    for (std::size_t c = 0; c < batch_counts.size(); ++c) {
        for (; taken < batch_counts[c]; ++taken) {
            const auto more = activations(evaluation, net, batch_of(data.train, order(taken)));
            for (std::size_t i = 0; i < layer_count; ++i) seen[i].insert(seen[i].end(), more[i].begin(), more[i].end());
        }
        if (c < first_count) continue;
        q.magnitudes = {seen.begin(), seen.end()};
        for (std::size_t m = 0; m < methods.size(); ++m) {
            for (std::size_t i = 0; i < layer_count; ++i)
                q.thresholds[c][m][i] = shrink * threshold_of(methods[m], q.magnitudes[i]);
            Index right = 0;
            Index among_five = 0;
            for (Index image = 0; image < data.test.size(); ++image) {
                const Batch one = batch_of(data.test, {image});
                const Planes pixels{data.test.channels, data.test.height,
                                    std::vector<float>(one.images.data(), one.images.data() + one.images.size())};
                const Index rank = rank_of(integer.logits(pixels, q.thresholds[c][m]), one.labels[0]);
                right += rank == 0 ? 1 : 0;
                among_five += rank < 5 ? 1 : 0;
            }
            q.top5[c][m] = static_cast<double>(among_five) / static_cast<double>(data.test.size());
            q.accuracies[c][m] = static_cast<double>(right) / static_cast<double>(data.test.size());
        }
    }
    return q;
}

/// A net that is quantised after its training, with the calibrations from `first_count` on; keeps the Quantisation.
TaskBuilder quantised_task(const RunContext& context, const DataSplit& data, std::size_t first_count = 0) {
    const double shrink = has_control(context, "saturate") ? 1.0 / 4 : 1;
    const Index size = std::min<Index>(context.settings.integer("batch"), data.train.size());
    return [=, &data](Model& model, std::uint64_t seed) {
        const Net net(model, digit_cnn(8, 16), shape_of(data.train), data.train.classes);
        Task task = images_task([net](Model&) { return net; }, data, size)(model, seed);
        task.measure = [=, &data, &model](Evaluation& evaluation, Learned& learned) {
            learned.more =
                quantise(evaluation, net, model, data, batches(data.train.size(), size, seed), shrink, first_count);
        };
        return task;
    };
}

/// The source's table: per cent in fp32 and int8, and the differences that it prints. Top-1, top-5 for 5, 10, 50.
struct TableRow {
    std::string_view id;
    std::string_view net;
    std::array<int, 2> fp32;  // hundredths of a per cent
    std::array<int, 6> int8;
    std::array<int, 6> printed;
};
constexpr TableRow table[] = {
    {"resnet50", "ResNet-50", {7323, 9118}, {7303, 9115, 7302, 9106, 7310, 9106}, {20, 3, 22, 13, 13, 12}},
    {"resnet101", "ResNet-101", {7439, 9178}, {7452, 9164, 7438, 9170, 7440, 9173}, {-13, 14, 1, 9, -1, 6}},
    {"resnet152", "ResNet-152", {7478, 9182}, {7462, 9182, 7466, 9182, 7470, 9178}, {15, 1, 11, 1, 8, 5}},
    {"vgg19", "VGG-19", {6841, 8878}, {6842, 8869, 6842, 8867, 6838, 8870}, {-2, 9, -1, 10, 3, 7}},
    {"googlenet", "GoogLeNet", {6857, 8883}, {6821, 8867, 6810, 8858, 6812, 8864}, {36, 16, 46, 25, 45, 19}},
    {"alexnet", "AlexNet", {5708, 8006}, {5700, 7998, 5700, 7998, 5705, 8006}, {8, 8, 8, 7, 3, -1}}};

void claim_table(Result& result) {
    const std::string place = cite(sources::volta_talk, "Int8 quantized inference (TensorRT)");
    int off = 0;
    int worst = 0;
    for (const TableRow& row : table) {
        for (std::size_t i = 0; i < row.int8.size(); ++i) {
            const int difference = row.fp32[i % 2] - row.int8[i] - row.printed[i];
            off += difference != 0 ? 1 : 0;
            worst = std::max(worst, std::abs(difference));
        }
        result.quoted(
            fmt::format("quoted_{}", row.id), place,
            fmt::format("{}: top-1 {:.2f} % in fp32; in int8 {:.2f}, {:.2f}, {:.2f} % with 5, 10, 50 batches.", row.net,
                        row.fp32[0] / 100.0, row.int8[0] / 100.0, row.int8[2] / 100.0, row.int8[4] / 100.0),
            fmt::format("{:.2f} %", row.int8[4] / 100.0), "it takes ImageNet and the trained network");
    }
    result.arithmetic("table_differences", place,
                      "The table's differences follow from its columns: 15 of 36 are off by 0.01.",
                      equal(15, off, "of 36 are off") && equal(1, worst, "hundredths at most"), Verdict::inconsistent);
}

double mean_difference(const std::vector<Quantisation>& runs, std::size_t method, std::size_t count) {
    std::vector<double> points;
    for (const Quantisation& run : runs) points.push_back(100 * (run.accuracies[count][method] - run.fp32));
    return mean_of(points);
}

/// Differences to fp32 in points, by calibration; the source's ResNets beside them.
Figure figure_of_table(const std::vector<Quantisation>& runs, Result& result) {
    Figure figure{
        "differences", "int8 minus fp32, in points of top-1 accuracy",
        fmt::format("Here: a small net on generated shapes, {}, a mark per seed. Grey: the source's networks, quoted.",
                    counted(runs.size(), "seed")),
        "Means over the seeds with 5, 10 and 50 calibration batches:", evidence_of_row(multiplying_unit, result)};
    for (std::size_t m = 0; m < methods.size(); ++m) {
        Series series{std::string(methods[m])};
        for (std::size_t c = 0; c < batch_counts.size(); ++c) {
            for (const Quantisation& run : runs) {
                series.points.push_back({static_cast<double>(c), 100 * (run.accuracies[c][m] - run.fp32)});
            }
            figure.meaning +=
                fmt::format("{} {:+.2f}", c == 0 ? fmt::format(" {}", methods[m]) : ",", mean_difference(runs, m, c));
        }
        figure.meaning += m + 1 < methods.size() ? ";" : " points.";
        figure.series.push_back(std::move(series));
    }
    Series source{"quoted"};
    for (std::size_t c = 0; c < batch_counts.size(); ++c) {
        for (const TableRow& row : table) {
            source.points.push_back({static_cast<double>(c), (row.int8[2 * c] - row.fp32[0]) / 100.0});
        }
    }
    const auto [least, most] = std::ranges::minmax_element(source.points, {}, &Point::y);
    figure.meaning += fmt::format(" The source's networks on ImageNet: {:+.2f} to {:+.2f}.", least->y, most->y);
    figure.series.push_back(std::move(source));
    figure.axes = {named_axis({"5", "10", "50"}, "calibration batches"), {.label = "points", .room = 0.15}};
    for (std::size_t m = 0; m < methods.size(); ++m) {
        figure.looks.push_back({.mark = Mark::points, .size = 1.8, .shift = 0.18 * static_cast<double>(m) - 0.28});
    }
    figure.looks.push_back({.mark = Mark::points,
                            .colour = 8,
                            .point = 7,
                            .size = 1.3,
                            .title = "six networks on ImageNet, quoted",
                            .shift = 0.3});
    figure.guides = {level(0)};
    return figure;
}

/// The share of the numbers in bins from `end` on.
double share_above(const Magnitudes& m, double end) {
    double above = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) above += m.edge(bin) >= end ? m.counts[bin] : 0;
    return above / std::max(std::accumulate(m.counts.begin(), m.counts.end(), 0.0), 1.0);
}

/// The magnitudes that the second convolution sees, and the three thresholds.
Figure figure_of_ranges(const Quantisation& run) {
    Figure figure{"ranges", "What 127 should stand for: magnitudes before the second convolution",
                  fmt::format("{} calibration batches, first seed. Bars: how many numbers have this magnitude. Lines: "
                              "where each method clips.",
                              batch_counts.back()),
                  "A lower end resolves the numbers below it better, and clips those above. 127 stands for", ""};
    const Magnitudes& m = run.magnitudes[1];
    Series bars{"numbers"};
    constexpr std::size_t together = 16;
    for (std::size_t bin = 0; bin < bins; bin += together) {
        const auto at = m.counts.begin() + static_cast<std::ptrdiff_t>(bin);
        const double count = std::accumulate(at, at + together, 0.0);
        bars.points.push_back({m.edge(bin) + m.edge(together) / 2, std::max(count, 0.5)});
    }
    figure.series.push_back(std::move(bars));
    for (std::size_t method = 0; method < methods.size(); ++method) {
        const double x = run.thresholds.back()[method][1];
        figure.meaning += fmt::format("{} {:.3g} by the {} ({:.3g} % of the numbers clipped)", method == 0 ? "" : ",",
                                      x, methods[method], 100 * share_above(m, x));
        figure.series.push_back({std::string(methods[method]), formats::fp64, {{x, 0.5}, {x, 1e9}}});
    }
    figure.meaning += ".";
    const double last = figure.series.front().points.back().x;
    double most = 1;
    for (const Point& bar : figure.series.front().points) most = std::max(most, bar.y);
    figure.axes = {{.label = "magnitude", .from = 0.0, .to = 1.3 * last}, power_axis("numbers", 10)};
    figure.axes.y.from = 1;
    figure.axes.y.to = 3 * most;
    figure.looks = {
        {.mark = Mark::boxes, .colour = pale}, {.width = 3}, {.width = 3, .dash = 2}, {.width = 7, .dash = 3}};
    figure.bar_width = last / (static_cast<double>(figure.series.front().points.size()) - 0.5);
    return figure;
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data =
        generated_shape_split(settings.integer("train_images"), settings.integer("test_images"), 16, context.seed, 45);
    result.input({"generated shapes for training and calibration", data.train.digest()});
    result.input({"generated shapes for testing", data.test.digest()});
    constexpr std::size_t most_batches = batch_counts.size() - 1;
    const Training in_fp32{.arithmetic = fp32_arithmetic(),
                           .task = quantised_task(context, data),
                           .optimizer = adam_of(settings),
                           .steps = settings.integer("steps")};
    Training in_fp16 = in_fp32;
    in_fp16.arithmetic = mixed_arithmetic(context, "fp16 dynamic", dynamic_loss_scale(100));
    in_fp16.task = quantised_task(context, data, most_batches);
    const std::int64_t seeds = settings.integer("seeds");
    const Comparison trained = compare(context, result, {in_fp32}, seeds, {0, 0.6});
    const Comparison mixed = compare(context, result, {in_fp16}, (seeds + 1) / 2, {0.6, 1});
    const auto quantised_runs = [](const Comparison& comparison) {
        std::vector<Quantisation> found;
        for (const Learned& run : comparison.runs[0]) found.push_back(run.kept<Quantisation>());
        return found;
    };
    const std::vector<Quantisation> runs = quantised_runs(trained);

    const std::string place = cite(sources::volta_talk, "Int8 quantized inference (TensorRT)");
    const auto scores = [](const std::vector<Quantisation>& nets, const auto& score) {
        std::vector<double> values;
        for (const Quantisation& q : nets) values.push_back(score(q));
        return values;
    };
    const std::vector<double> fp32 = scores(runs, [](const Quantisation& q) { return q.fp32; });
    result.measured("learns", place, "The net that is quantised has learned something: chance gives 10 %.",
                    at_least(0.6, mean_of(fp32), accuracy_text));
    const Margin margin{0.005, "the table's largest loss, 0.46 points, rounded up", Margin::Side::not_below};
    for (std::size_t m = 0; m < methods.size(); ++m) {
        const std::vector<double> int8 = scores(runs, [m](const Quantisation& q) {
            double sum = 0;
            for (const auto& by_method : q.accuracies) sum += by_method[m];
            return sum / static_cast<double>(batch_counts.size());
        });
        result.measured(
            std::string(methods[m]), place,
            fmt::format("Calibrated by {}, int8 inference is as good as fp32 (one weight scale per channel, sums in "
                        "32-bit integers; mean over calibrations with 5, 10 and 50 batches).",
                        methods[m]),
            as_good(int8, fp32, margin, accuracy_text));
    }
    // Over all calibrations and methods.
    const auto mean_over = [](const ByCalibration& values) {
        double sum = 0;
        for (const auto& by_method : values) sum = std::accumulate(by_method.begin(), by_method.end(), sum);
        return sum / static_cast<double>(batch_counts.size() * methods.size());
    };
    result.measured(
        "top_five", place,
        "Among the first five answers the right one is as often in int8 as in fp32 (mean over all calibrations).",
        as_good(scores(runs, [&](const Quantisation& q) { return mean_over(q.top5); }),
                scores(runs, [](const Quantisation& q) { return q.fp32_top5; }), margin,
                {"right among the first five", "%", 100, 1}));
    const std::vector<Quantisation> fp16_runs = quantised_runs(mixed);
    const auto after_most = [](const Quantisation& q) {
        const auto& by_method = q.accuracies[most_batches];
        return std::accumulate(by_method.begin(), by_method.end(), 0.0) / static_cast<double>(methods.size());
    };
    result.measured(
        "trained_in_fp16", cite(sources::volta_talk, "Some networks can be quantized after FP32/FP16 training"),
        "A net that was trained in mixed fp16 is as good in int8 as before (mean over the methods, 50 batches).",
        as_good(scores(fp16_runs, after_most), scores(fp16_runs, [](const Quantisation& q) { return q.fp32; }), margin,
                accuracy_text));
    claim_table(result);
    result.figure(figure_of_table(runs, result));
    result.figure(figure_of_ranges(runs.front()));
}

}  // namespace

Experiment experiment() {
    return {"int8_inference",
            "Inference in 8-bit integers",
            "How is a trained net's range chosen for int8, and what does it cost in accuracy?",
            {Chapter::systems, 12},
            {integer_setting("steps", "of training in fp32", 500, 4000, 2, 1000000).smoke(80),
             integer_setting("batch", "images a step, and a calibration batch", 32, 64, 1, 4096),
             integer_setting("train_images", "generated shapes to train on and calibrate with", 1920, 20000, 1, 1000000)
                 .smoke(320),
             integer_setting("test_images", "generated shapes to test on", 500, 4000, 1, 1000000).smoke(60),
             integer_setting("seeds", "trained nets", 4, 9, 1, 100).smoke(2),
             real_setting("learning_rate", "of Adam", 3e-3, 1e-3, 0, 10),
             control_setting("saturate clips at a quarter of the range", {"saturate"})},
            run,
            {Control("control=saturate", "top_five", RunSize::smoke, "steps=400"),
             Control("control=saturate", "maximum percentile entropy top_five trained_in_fp16", RunSize::quick),
             Control("steps=2", "learns", RunSize::smoke, "steps=400 seeds=1")}};
}

}  // namespace ulp::int8_inference_experiment
