// A single-shot detector finds shapes: why its gradients need a loss scale, and how large a one.
#include "engine/nets/shape_detector.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::detection_experiment {
namespace {

constexpr std::size_t shown_scenes = 5;
constexpr std::size_t precision = 0;
constexpr std::size_t zero_share = 1;  // of the gradients of the convolutions' results
const Quantity precision_text{"mean average precision", "%", 100, 1};

/// What a run keeps.
struct Seen {
    BinadeHistogram gradients;  // of the convolutions' results, with the loss scale, in every tenth step
    std::vector<Detection> detections;
};

TaskBuilder shapes_task(const Settings& settings, const Scenery& scenery, double weight) {
    return [&, weight](Model& model, std::uint64_t seed) -> Task {
        const Detector net(model, settings.integer("channels"));
        const Index count = scenery.train.images.size();
        const auto order = batches(count, std::min<Index>(count, settings.integer("batch")), seed);
        const auto seen = std::make_shared<Seen>();
        Task task{.loss = [=, &scenery](Tape& tape, std::int64_t step) {
            const std::vector<Index> which = order(step);
            const Var said = net(centred_on(tape, scenery.train.images, which, 2));
            return detection_loss(said, Targets(scenery, which), weight);
        }};
        task.watched = [](std::int64_t step) { return step % 10 == 0; };
        task.tap = [seen](std::int64_t, const TapEvent& event) {
            if (event.role != TensorRole::activation_gradient || !event.name.ends_with("/conv2d")) return;
            seen->gradients.add(event.values);
        };
        task.measure = [=, &scenery](Evaluation& evaluation, Learned& learned) {
            seen->detections = detections_of(evaluation, net, scenery);
            learned.scores = {mean_average_precision(seen->detections, truths_of(scenery.test)),
                              seen->gradients.share(seen->gradients.zeros())};
        };
        keep(task, seen);
        return task;
    };
}

Training training_of(const Settings& settings, const Scenery& scenery, double weight) {
    // Adam divides by the gradients' size: with its smallest divisor weighed too, the weight does nothing in fp32.
    return {.task = shapes_task(settings, scenery, weight),
            .optimizer = {.kind = OptimizerKind::adam,
                          .learning_rate = settings.real("learning_rate"),
                          .eps = settings.text("control") == "eps" ? 1e-8 : 1e-8 * weight},
            .steps = settings.integer("steps"),
            .schedule = linear_decay_factor};
}

/// Of the gradients that are not 0 in fp32, the share below half of fp16's smallest number once they are scaled by 2^n.
double predicted_loss(const std::vector<Learned>& fp32, int n) {
    return pooled(fp32, [](const Learned& run) { return run.kept<Seen>().gradients; }).lost_share(n);
}

/// Zeros beyond those that fp32 has too, as a share of the rest.
double measured_loss(const Comparison& comparison, std::size_t arithmetic) {
    const double ordinary = comparison.mean(0, zero_share);
    return (comparison.mean(arithmetic, zero_share) - ordinary) / (1 - ordinary);
}

void claim_scales(const Comparison& comparison, int exponent, Result& result) {
    const std::string place = cite(sources::paper, "3.2 and 4.2: Multibox SSD");
    const std::string talk = cite(sources::volta_talk, "Detection networks, mAP");
    const double reference = comparison.mean(0, precision);
    result.measured("learns", talk, "The detector learns to find and to name shapes in fp32.",
                    at_least(0.7, reference, precision_text));
    result.measured(
        "unscaled", place,
        fmt::format(
            "Where gradients are small, a detector does not train in fp16 without a loss scale: no run gets half as "
            "far. Here a weight of the loss, {}, makes them small; the source does not say what does in SSD.",
            power_of_two_text(exponent)),
        below(0.5 * reference, comparison.spread(1, precision).largest, precision_text));
    const Margin margin{0.025, "two and a half points of mean average precision", Margin::Side::not_below};
    claim_parity(result, comparison, precision, precision_text, margin, "scale_8", place,
                 "A scale of 8 is enough for it to find as much as in fp32.", 2);
    claim_parity(result, comparison, precision, precision_text, margin, "dynamic", talk,
                 "With a scale that is found automatically it finds as much as in fp32.", 3);
    claim_parity(result, comparison, precision, precision_text, margin, "ordinary_loss",
                 cite(sources::paper, "4.2: Faster R-CNN, 68.6% unscaled, 69.1% in fp32"),
                 "With the same loss at its ordinary weight the same net needs no scale.", 4);

    const double measured = measured_loss(comparison, 2);
    const Quantity share{"lost", "%", 100, 1};
    result.measured("lost_8", place,
                    "As many gradients of the convolutions' results are lost at a scale of 8 as fp32's histogram says, "
                    "within 5 points of those that are not 0.",
                    near(predicted_loss(comparison.runs[0], 3), 0.05, measured, share));
    result.measured(
        "irrelevant", place,
        "The smallest gradients are irrelevant to the training: the net finds as much as in fp32 with a scale of 8, "
        "which still loses more than a tenth of the gradients that are not 0.",
        above(0.1, measured, share) &&
            as_good(comparison.scores(2, precision), comparison.scores(0, precision), margin, precision_text));
}

/// The losses of two runs of which the first has a loss `factor` times the other's.
void claim_same(const Learned& weighted, const Learned& plain, double factor, std::string_view id,
                std::string_view statement, Result& result) {
    std::int64_t others = 0;
    for (std::size_t i = 0; i < plain.losses.size(); ++i)
        others += weighted.losses[i] != factor * plain.losses[i] ? 1 : 0;
    result.measured(id,
                    cite(sources::amp_slides, "Loss scaling: by the chain rule, gradients will also be scaled by S"),
                    statement, equal(0, others, fmt::format("of {} steps differ", plain.losses.size())));
}

Figure figure_of_gradients(const Comparison& comparison, int exponent) {
    const BinadeHistogram& gradients = comparison.runs[0].front().kept<Seen>().gradients;
    const auto lost = [&](int binades) {
        constexpr int half_of_smallest = -25;
        const auto others = static_cast<double>(gradients.total() - gradients.zeros());
        return 100 * static_cast<double>(gradients.below(half_of_smallest - binades)) / std::max(others, 1.0);
    };
    Figure figure{"gradients", "Where a detector's gradients lie, and what a scale of 8 moves",
                  fmt::format("Gradients of the convolutions' results in fp32, first seed; the loss weighted by {}.",
                              power_of_two_text(exponent)),
                  fmt::format("Of what is not zero fp16 loses {:.0f} % unscaled, {:.0f} % with a scale of 8, and "
                              "{:.2f} % where the loss has its ordinary weight.",
                              lost(0), lost(3), lost(-exponent)),
                  ""};
    const auto moved_by = [&](const char* name, int binades) {
        Series series = gradients.series(name);
        for (Point& point : series.points) point.x += binades;
        figure.series.push_back(std::move(series));
    };
    moved_by("scale 1", 0);
    moved_by("scale 8", 3);
    moved_by("ordinary weight", -exponent);
    draw_binades(figure, binade_axis(-48, 4), "share of all numbers");
    figure.looks = {{.mark = Mark::histogram}, {.mark = Mark::histogram}, {.mark = Mark::steps}};
    return figure;
}

/// Corners of a box on a sheet of scenes side by side, from the first round to the first.
void add_box(Series& series, const Area& box, std::size_t scene, Index side) {
    const double x = static_cast<double>(scene) * static_cast<double>(side);
    for (const auto& [along, down] :
         {std::pair{box.left, box.top}, std::pair{box.right, box.top}, std::pair{box.right, box.bottom},
          std::pair{box.left, box.bottom}, std::pair{box.left, box.top}}) {
        series.points.push_back({x + along, down});
    }
}

Figure figure_of_scenes(const Scenery& scenery, const Comparison& comparison) {
    Figure figure{
        "scenes", "Scenes of the test set and what the net finds in them",
        "First seed. White: where the shape is. Black: the predicted box with the highest score.",
        "Overlap of the drawn box with the shape, mean over the scenes, where no box is none:", comparison.evidence};
    const Dataset& images = scenery.test.images;
    const Index side = images.width;
    const std::size_t count = std::min(shown_scenes, scenery.test.boxes.size());
    Series truth{"truth"};
    for (std::size_t scene = 0; scene < count; ++scene) {
        add_box(truth, area_of(scenery.test.boxes[scene]), scene, side);
    }
    const auto bytes = static_cast<std::size_t>(images.features()) * count;
    figure.series = {colour_sheet("pixels", std::span(images.pixels).first(bytes), side), std::move(truth)};
    for (const std::size_t a : {std::size_t{0}, std::size_t{2}, std::size_t{1}}) {
        Series found{comparison.arithmetics[a].name};
        std::int64_t last = -1;
        double overlap = 0;
        for (const Detection& d :
             comparison.runs[a].front().kept<Seen>().detections) {  // by scene, the likeliest first
            if (d.image == last || d.image >= static_cast<std::int64_t>(count)) continue;
            const auto scene = static_cast<std::size_t>(d.image);
            add_box(found, d.box, scene, side);
            overlap += overlap_of(d.box, area_of(scenery.test.boxes[scene]));
            last = d.image;
        }
        figure.meaning += fmt::format(" {} {:.0f} %,", found.name,
                                      100 * overlap / static_cast<double>(std::max<std::size_t>(count, 1)));
        figure.series.push_back(std::move(found));
    }
    show_as_rows(figure, side);
    figure.variables.back() = {"rows", 3.0};
    figure.variables.emplace_back("boxes", 1.0);
    return figure;
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const auto count = settings.integer("train_images");
    const auto tests = settings.integer("test_images");
    const auto side = settings.integer("side");
    const Scenes scenes = generated_scenes({.count = count + tests, .side = side, .seed = context.seed, .noise = 20});
    result.input({"generated scenes for training and testing", scenes.images.digest()});
    const Scenery scenery{scenes.slice(0, count), scenes.slice(count, tests), anchors_of(side)};

    const auto exponent = static_cast<int>(settings.integer("loss_exponent"));
    const double weight = std::ldexp(1.0, exponent);
    const bool scaling = !has_control(context, "unscaled");
    const std::int64_t seeds = settings.integer("seeds");
    const auto fp16 = [&](const char* name, const LossScaleOptions& scale) {
        return mixed_arithmetic(context, name, scaling ? scale : constant_loss_scale(1));
    };
    std::vector<Training> arms;
    const auto add = [&](Arithmetic arithmetic, double loss_weight) {
        arms.push_back(training_of(settings, scenery, loss_weight));
        arms.back().arithmetic = std::move(arithmetic);
    };
    add(fp32_arithmetic(), weight);
    add(fp16("fp16 scale 1", constant_loss_scale(1)), weight);
    add(fp16("fp16 scale 8", constant_loss_scale(8)), weight);
    add(fp16("fp16 dynamic", dynamic_loss_scale(settings.integer("scale_window"))), weight);
    add(fp16("fp16 ordinary loss", constant_loss_scale(1)), has_control(context, "weighted") ? weight : 1);
    const Comparison comparison = compare(context, result, arms, seeds, {0, 0.95});
    claim_scales(comparison, exponent, result);
    const auto once = [&](const Arithmetic& arithmetic, double loss_weight) {
        Training training = training_of(settings, scenery, loss_weight);
        training.arithmetic = arithmetic;
        return train(training, context.seed);
    };
    claim_same(comparison.runs[0].front(), once(comparison.arithmetics[0], 1), weight, "weight_fp32",
               "In fp32 the weight of the loss changes nothing, because Adam's eps is weighted too: each step has the "
               "same loss as without it, up to the weight, bit for bit.",
               result);
    claim_same(comparison.runs[2].front(), once(fp16("fp16 scale 1", constant_loss_scale(1)), 8 * weight), 0.125,
               "scale_is_weight",
               "A scale of 8 gives the bits that an 8 times larger loss gives unscaled. So it is enough for a net that "
               "trains unscaled at 8 times the loss, and for no other.",
               result);

    result.figure(figure_of_seeds(comparison, precision, precision_text, "precision",
                                  "Shapes found, by arithmetic and loss scale",
                                  fmt::format("The loss is weighted by {}; the last arm has it at its ordinary size.",
                                              power_of_two_text(exponent))));
    result.figure(figure_of_gradients(comparison, exponent));
    result.figure(figure_of_scenes(scenery, comparison));
}

}  // namespace

Experiment experiment() {
    return {
        "detection",
        "A single-shot detector of shapes",
        "Why does a detector need a loss scale, and is 8 enough?",
        {Chapter::systems, 9},
        {integer_setting("steps", "training steps", 800, 2000, 2, 1000000).smoke(4),
         integer_setting("batch", "scenes a step", 8, 16, 1, 4096),
         integer_setting("channels", "of the first convolution", 8, 12, 1, 256).smoke(4),
         integer_setting("train_images", "generated scenes to train on", 2000, 20000, 1, 1000000).smoke(100),
         integer_setting("test_images", "generated scenes to test on", 200, 1000, 5, 100000).smoke(5),
         integer_setting("side", "pixels a side", 16, 16, 8, 64),
         integer_setting("seeds", "runs of each arithmetic", 3, 8, 1, 100).smoke(1),
         integer_setting("loss_exponent",
                         "the loss is weighted by 2 to this power, as if it were divided by many more boxes: the "
                         "source does not say what makes its gradients small",
                         -17, -17, -40, 0),
         integer_setting("scale_window", "clean steps until the dynamic scale grows", 30, 200, 1, 1000000),
         real_setting("learning_rate", "of Adam, falling linearly to 0", 8e-3, 4e-3, 0, 10),
         control_setting("unscaled trains with a scale of 1 instead of any other; weighted weights the ordinary "
                         "loss too; eps leaves Adam's eps as it is",
                         {"unscaled", "weighted", "eps"})},
        run,
        {Control("control=unscaled", "lost_8 scale_is_weight"), Control("control=eps", "weight_fp32 scale_is_weight"),
         Control("control=unscaled", "scale_8 dynamic lost_8 irrelevant scale_is_weight", RunSize::quick),
         Control("control=weighted", "ordinary_loss", RunSize::quick),
         Control("loss_exponent=0", "unscaled scale_8 irrelevant", RunSize::quick),
         Control("learning_rate=0", "learns unscaled", RunSize::quick, "seeds=1")},
        Effect{"unscaled",
               "a loss times 2^-17, as if it were divided by many more boxes",
               {"coordinate_net", "big_lstm"}}};
}

}  // namespace ulp::detection_experiment
