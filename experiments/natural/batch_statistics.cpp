// Batch normalisation with running statistics in 16 bits: training never reads them, so its loss says nothing, and the
// net that is used afterwards normalises by numbers that never moved.
#include "experiments/natural/tuning.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::batch_statistics_experiment {
namespace {

/// A way to keep the statistics.
struct Keeping {
    std::string name;
    FloatFormat format;
    double momentum;  // PyTorch's: the new batch's weight
};
enum : std::size_t { fp32, in_bf16, in_fp16, fast_bf16 };

std::vector<Keeping> keepings(const RunContext& context) {
    const double slow = context.settings.real("momentum");
    const bool wide = has_control(context, "wide");
    return {{"fp32", formats::fp32, slow},
            {"bf16", wide ? formats::fp32 : formats::bf16, slow},
            {"fp16", has_control(context, "coarse") ? formats::bf16 : formats::fp16, slow},
            {"bf16 with momentum 0.1", formats::bf16, has_control(context, "slow") ? slow : 0.1}};
}

/// How the running variances went, by channel.
struct VarianceWatch {
    std::vector<double> running;         // after the last step
    std::vector<double> largest;         // of the batches; told from the running ones, where these are in fp32
    std::vector<double> means_of_steps;  // over the channels

    void after(Model& model, double momentum) {
        const Tensor& now = model.statistics().front().second.variance;
        const auto channels = static_cast<std::size_t>(now.size());
        if (running.empty()) {
            running.assign(channels, 1.0);
            largest.assign(channels, 0.0);
        }
        double sum = 0;
        for (std::size_t c = 0; c < channels; ++c) {
            const auto value = static_cast<double>(now[static_cast<Index>(c)]);
            largest[c] = larger(largest[c], (value - (1 - momentum) * running[c]) / momentum);
            running[c] = value;
            sum += value;
        }
        means_of_steps.push_back(sum / static_cast<double>(channels));
    }
};

TaskBuilder normalised_task(const DataSplit& data, Index hidden, double momentum) {
    const NetBuilder net = [=, &data](Model& m) -> ImageNet {
        const Linear fc1(m, "fc1", data.train.features(), hidden);
        const BatchNorm norm(m, "norm", hidden, {.momentum = momentum});
        const Linear fc2(m, "fc2", hidden, data.train.classes);
        return [=](Var x) { return fc2(relu(norm(fc1(x)))); };
    };
    return watching<VarianceWatch>(images_task(net, data, 32), [momentum](Task& watched, const auto& watch) {
        watched.after_step = [watch, momentum](Trainer& trainer, const StepResult&) {
            watch->after(trainer.model(), momentum);
        };
    });
}

/// Channels, over all seeds, for which `which` holds.
template <class Which>
std::int64_t channels_where(const Comparison& runs, std::size_t arm, const Which& which) {
    std::int64_t count = 0;
    for (const Learned& run : runs.runs[arm]) {
        const auto& watch = run.kept<VarianceWatch>();
        for (std::size_t c = 0; c < watch.running.size(); ++c) count += which(watch, c) ? 1 : 0;
    }
    return count;
}

void claim_standing(const Comparison& runs, double momentum, Result& result) {
    const std::string place = cite("TensorFlow 1.15 manual", "tf.contrib.layers.batch_norm: decay=0.999");
    // keep = 1 - momentum is 1 in bf16, so a variance of 1 moves only where momentum * batch reaches half of its ulp
    // 2^-7.
    const bool is_kept = round_to(formats::bf16, static_cast<float>(1 - momentum)) == 1;
    const auto never = channels_where(
        runs, fp32, [&](const VarianceWatch& w, std::size_t c) { return is_kept && momentum * w.largest[c] < 0x1p-8; });
    const auto stood =
        channels_where(runs, in_bf16, [](const VarianceWatch& w, std::size_t c) { return w.running[c] == 1; });
    result.measured(
        "variance_stands", place,
        "Running variances in bf16 stay exactly 1 in as many channels as fp32's run predicts: where 1 minus the "
        "momentum is 1 in bf16, and no batch's variance times the momentum reaches half an ulp of 1.",
        equal(never, stood, "channels"));
    std::int64_t different = 0;
    for (std::size_t i = 0; i < runs.runs[fp32].size(); ++i) {
        for (std::size_t arm = in_bf16; arm < runs.runs.size(); ++arm) {
            different += runs.runs[arm][i].losses == runs.runs[fp32][i].losses ? 0 : 1;
        }
    }
    result.arithmetic("loss_says_nothing", place,
                      "Training normalises by the batch: whatever the format and the momentum of the statistics, the "
                      "losses of all steps are fp32's, bit for bit.",
                      equal(0, different, "runs with another loss"));
}

void figure_variance(const Comparison& runs, Result& result) {
    Figure figure{.name = "variance",
                  .title = "Batch normalisation: the running variance, by format",
                  .caption = "Mean over the channels, first seed; it starts at 1.",
                  .meaning = "After the last step:",
                  .evidence = "",
                  .axes = {step_axis(), {.label = "running variance", .from = 0.0, .to = 1.05}},
                  .looks = {{.width = 4}, {.width = 3}, {}}};
    for (std::size_t arm = 0; arm < runs.runs.size(); ++arm) {
        const std::vector<double>& means = runs.runs[arm].front().kept<VarianceWatch>().means_of_steps;
        std::vector<Point> points = window_means(means, std::max<std::size_t>(1, means.size() / 200));
        figure.meaning += fmt::format("{} {} {:.4g}", arm == 0 ? "" : ",", runs.arithmetics[arm].name, means.back());
        figure.series.push_back({runs.arithmetics[arm].name, formats::fp64, std::move(points)});
    }
    figure.meaning += ". Training does not read them.";
    result.figure(std::move(figure));
}

/// How far batches push the running variance, in ulps of bf16 at 1.
void figure_pushes(const Comparison& runs, double momentum, Result& result) {
    Series series{"largest push of a channel"};
    std::map<int, double> bins;
    double channels = 0;
    double left = 0;  // pushes of less than half an ulp
    for (const Learned& run : runs.runs[fp32]) {
        for (const double largest : run.kept<VarianceWatch>().largest) {
            ++bins[std::ilogb(momentum * largest * 0x1p7)];
            ++channels;
            left += momentum * largest * 0x1p7 < 0.5 ? 1 : 0;
        }
    }
    for (const auto& [bin, count] : bins) series.points.push_back({static_cast<double>(bin), count / channels});
    result.figure(
        {.name = "updates",
         .title = "Batch normalisation: the largest push of a running variance",
         .caption = "Momentum times the largest variance of a batch, by channel, in fp32, in ulps of 1 in bf16. Left "
                    "of the line: less than half an ulp.",
         .meaning = fmt::format("{:.0f} % of the channels lie left of the line: they never move a running variance of "
                                "1 in bf16 where 1 minus the momentum, {:g}, is 1 in it; it is {:g}.",
                                100 * left / channels, 1 - momentum,
                                round_to(formats::bf16, static_cast<float>(1 - momentum))),
         .evidence = "",
         .series = {series},
         .axes = {binade_axis(-16, 9, "largest push in ulps of 1 in bf16"), share_axis("share of the channels")},
         .looks = {{.mark = Mark::histogram}},
         .guides = {upright(-1, "half an ulp in bf16")},
         .key = Key::none});
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data = digits_of(context, result);
    const auto hidden = settings.integer("hidden");
    const double momentum = settings.real("momentum");
    std::vector<Training> arms;
    for (const Keeping& keeping : keepings(context)) {
        arms.push_back({.arithmetic = {keeping.name, recipe_by_name("fp32"), "soft:ieee"},
                        .task = normalised_task(data, hidden, keeping.momentum),
                        .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 1e-3},
                        .steps = settings.integer("steps")});
        arms.back().arithmetic.recipe.statistics = keeping.format;
    }
    const Comparison runs = compare(context, result, arms, settings.integer("seeds"));

    claim_standing(runs, momentum, result);
    const std::string place = cite(sources::bf16_paper, "16-bit floating-point training algorithms");
    const Scores reference = runs.scores(fp32);
    const Margin margin{0.01, "one image in a hundred", Margin::Side::not_below};
    const std::string beginning = fmt::format("With a momentum of {:g} ", momentum);
    result.measured("bf16_statistics", place,
                    beginning + "and running statistics in bf16 a net reads fewer unseen digits than with fp32's.",
                    falls_short(runs.scores(in_bf16), reference, margin, accuracy_text));
    result.measured("fp16_statistics", place,
                    beginning + "and running statistics in fp16 a net reads as many unseen digits as with fp32's.",
                    as_good(runs.scores(in_fp16), reference, margin, accuracy_text));
    result.measured("fast_bf16_statistics", place,
                    "With PyTorch's momentum of 0.1 running statistics in bf16 do as well as fp32's.",
                    as_good(runs.scores(fast_bf16), reference, margin, accuracy_text));
    figure_pushes(runs, momentum, result);
    figure_variance(runs, result);
    result.figure(figure_of_seeds(runs, test_accuracy, accuracy_text, "accuracy",
                                  "Batch normalisation: unseen digits read right, by format of the statistics"));
}

}  // namespace

Experiment experiment() {
    return {"batch_statistics",
            "Batch normalisation whose running statistics stand still",
            "Do running statistics in 16 bits follow their batches, and would the training loss tell?",
            {Chapter::swamping, 2},
            {integer_setting("steps", "training steps", 2000, 4000, 1, 1000000).smoke(60),
             integer_setting("seeds", "runs of each format", 5, 5, 1, 100).smoke(2),
             integer_setting("hidden", "width of the hidden layer", 32, 64, 2, 4096).smoke(16),
             integer_setting("side", "pixels a side of generated digits", 14, 28, 8, 64),
             integer_setting("train_images", "generated digits to train on", 2000, 10000, 64, 1000000).smoke(200),
             integer_setting("test_images", "generated digits to test on", 1000, 4000, 1, 1000000).smoke(100),
             real_setting("momentum", "weight of the new batch: 1 - decay", 1e-3, 1e-3, 1e-6, 1),
             control_setting("wide keeps the statistics of bf16 in fp32; coarse those of fp16 in bf16; slow gives the "
                             "momentum of 0.1 up",
                             {"wide", "coarse", "slow"}),
             path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
            run,
            {Control("control=wide", "variance_stands bf16_statistics", RunSize::quick),
             Control("control=coarse", "fp16_statistics", RunSize::quick),
             Control("control=slow", "fast_bf16_statistics", RunSize::quick)},
            Effect{"bf16_statistics"},
            fp32_alone};
}

}  // namespace ulp::batch_statistics_experiment
