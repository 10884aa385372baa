// Trains a small net and looks at the exponents of its weights, activations and gradients.
#include <fmt/core.h>

#include <limits>

#include "experiments/shared/matrix_units.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "experiments/training/watched_nets.hpp"

namespace ulp::gradient_histogram_experiment {
namespace {

/// One word, by which the figures' panels take their series.
std::string word_of(TensorRole role) {
    std::string word(name_of(role));
    std::replace(word.begin(), word.end(), ' ', '_');
    return word;
}

/// The middle exponent of what is not 0: "2^-12".
std::string median_text(const BinadeHistogram& histogram) {
    const std::optional<int> median = median_exponent(histogram);
    return median ? power_of_two_text(*median) : "none";
}

std::string title_of(const Watched& w) { return fmt::format("{} {}", word_of(w.role), w.tensor); }

/// How many of the histograms of gradients, or of the others, a loss scale moves by that many binades.
Check moved(const Probes& probes, bool gradients, int binades, const std::string& unit) {
    const Histograms& plain = probes.snapshots.back().histograms;
    std::int64_t all = 0;
    std::int64_t exact = 0;
    for (std::size_t i = 0; i < std::size(watched); ++i) {
        if (is_gradient(watched[i].role) != gradients) continue;
        ++all;
        exact += plain[i].equals_shifted(probes.fp32_scaled[i], binades) ? 1 : 0;
    }
    return equal(all, exact, unit);
}

std::int64_t sum_over_gradients(const Histograms& histograms, std::int64_t (BinadeHistogram::*count)() const) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < std::size(watched); ++i) {
        if (is_gradient(watched[i].role)) sum += (histograms[i].*count)();
    }
    return sum;
}

void claim_gradients(const Probes& probes, int binades, Result& result) {
    const std::string slide =
        cite(sources::amp_slides, "Loss scaling: by the chain rule, gradients will also be scaled by S");
    result.measured("shift", slide,
                    fmt::format("A loss scale of 2^{} shifts the histogram of every gradient by exactly {} bins, and "
                                "moves no weight and no activation.",
                                binades, binades),
                    moved(probes, true, binades, "gradients shifted") && moved(probes, false, 0, "others unmoved"));
    const Histograms& plain = probes.snapshots.back().histograms;
    const auto lost = static_cast<double>(sum_over_gradients(plain, &BinadeHistogram::lost_in_fp16));
    const auto lost_scaled =
        static_cast<double>(sum_over_gradients(probes.fp32_scaled, &BinadeHistogram::lost_in_fp16));
    result.measured(
        "lost", cite(sources::amp_slides, "Gradient underflow; loss scaling"),
        "Small gradients underflow in fp16, and a loss scale brings them back: nine tenths of them at least.",
        above(0, lost, {"", "gradients lost", 1, 0}) &&
            below(lost / 10, lost_scaled, {"", "lost with the scale", 1, 0}));
    std::optional<int> largest;
    for (std::size_t i = 0; i < std::size(watched); ++i) {
        if (is_gradient(watched[i].role)) largest = std::max(largest, plain[i].largest_exponent());
    }
    const double unused = largest ? formats::fp16.emax() - *largest : std::numeric_limits<double>::quiet_NaN();
    result.measured(
        "unused_range", cite(sources::volta_talk, "FP16 range not used by gradients: ~15 powers of 2"),
        "Gradients leave about 15 powers of two at the top of fp16's range unused: in the talk's net, and "
        "in this one within three.",
        always(unused >= 12 && unused <= 18, "12 to 18 powers of two", fmt::format("{:.0f} powers of two", unused)));
    result.arithmetic(
        "published_split", cite(sources::notebook, "histogram of activation gradients, from NVIDIA's documentation"),
        "The published shares, 66.8 % zeros, 31 % lost and 5.3 % kept, are parts of one whole. They add up to more "
        "than 100 %.",
        above(1, published_shares.zeros + published_shares.lost + published_shares.kept, {"", "%", 100, 1}),
        Verdict::inconsistent);
}

void claim_training(const Comparison& runs, Result& result) {
    const std::string place = cite(sources::volta_talk, "Mixed precision matches FP32-trained accuracy");
    result.measured("accuracy", place, "The net learns in this arithmetic: at least 90 % of unseen digits are right.",
                    at_least(0.9, runs.mean(1, test_accuracy), accuracy_text));
    claim_parity(result, runs, test_accuracy, accuracy_text,
                 {0.01, "one test image in a hundred", Margin::Side::not_below}, "parity", place,
                 "Trained with the same hyperparameters as in fp32, the net reaches the same accuracy.", 1);
}

/// Four panels; series are named by the role and what tells them apart.
void draw_by_role(Figure& figure) {
    draw_binades_in_panels(figure, binade_axis(-40, 8),
                           {"weight", "activation", "weight_gradient", "activation_gradient"},
                           {{"weights"}, {"activations"}, {"weight gradients"}, {"activation gradients"}});
}

void figure_by_layer(const Probes& probes, const std::string& evidence, Result& result) {
    Figure figure{
        "by_layer", fmt::format("Exponents by layer at step {}", probes.snapshots.back().step),
        "Share of a tensor's numbers in each binade. Dark: below fp16's threshold 2⁻²⁵. Light: subnormal in fp16.",
        "The middle exponents of what is not 0:", evidence};
    for (std::size_t i = 0; i < std::size(watched); ++i) {
        const BinadeHistogram& histogram = probes.snapshots.back().histograms[i];
        figure.series.push_back(histogram.series(title_of(watched[i])));
        figure.meaning += fmt::format(" {} {},", title_of(watched[i]), median_text(histogram));
    }
    draw_by_role(figure);
    result.figure(std::move(figure));
}

void figure_by_step(const Probes& probes, const std::string& evidence, Result& result) {
    Figure figure{
        "by_step", "Exponents over training, first layer",
        "Share of a tensor's numbers in each binade. Dark: below fp16's threshold 2⁻²⁵. Light: subnormal in fp16.",
        "From the first to the last step shown, the middle exponents of what is not 0:", evidence};
    constexpr std::size_t first_layer[] = {0, 2, 5, 7};
    for (const std::size_t i : first_layer) {
        const BinadeHistogram& last = probes.snapshots.back().histograms[i];
        figure.meaning += fmt::format(" {} from {} to {},", name_of(watched[i].role),
                                      median_text(probes.snapshots.front().histograms[i]), median_text(last));
        if (!is_gradient(watched[i].role)) continue;
        figure.meaning.pop_back();
        figure.meaning += fmt::format(" ({:.1f} % lost in fp16 at last),", 100 * last.share(last.lost_in_fp16()));
    }
    for (const Snapshot& snapshot : probes.snapshots) {
        for (const std::size_t i : first_layer) {
            figure.series.push_back(
                snapshot.histograms[i].series(fmt::format("{} step {}", word_of(watched[i].role), snapshot.step)));
        }
    }
    draw_by_role(figure);
    result.figure(std::move(figure));
}

void figure_shift(const Probes& probes, int binades, const std::string& arithmetic, const std::string& evidence,
                  Result& result) {
    Figure figure{
        "shift",
        fmt::format("What a loss scale of {} does to the gradient of fc1's output", power_of_two_text(binades)),
        fmt::format("Share of the numbers in each binade. Left: in fp32. Right: as it trains, {}.", arithmetic), "",
        evidence};
    const BinadeHistogram& plain = probes.snapshots.back().histograms[gradient_of_fc1];
    const BinadeHistogram& scaled = probes.fp32_scaled[gradient_of_fc1];
    const auto zeros = [](const BinadeHistogram& h) { return 100 * h.share(h.zeros()); };
    figure.meaning = fmt::format(
        "In fp32 the scaled histogram is {} the other one moved by {} bins. Zeros: in fp32 {:.1f} %, as it trains "
        "{:.1f} % unscaled and {:.1f} % scaled.",
        plain.equals_shifted(scaled, binades) ? "exactly" : "not", binades, zeros(plain),
        zeros(probes.low[gradient_of_fc1]), zeros(probes.low_scaled[gradient_of_fc1]));
    figure.series.push_back(plain.series("fp32 scale 1"));
    figure.series.push_back(scaled.series("fp32 scaled"));
    figure.series.push_back(probes.low[gradient_of_fc1].series("recipe scale 1"));
    figure.series.push_back(probes.low_scaled[gradient_of_fc1].series("recipe scaled"));
    draw_binades(figure, binade_axis(-40, 8), "share of the gradient");
    figure.axes.x.step = 8;
    for (Guide& guide : figure.guides) guide.text.clear();
    figure.looks.clear();
    for (int i = 0; i < 4; ++i) {
        figure.looks.push_back({.mark = Mark::histogram, .title = i % 2 == 0 ? "scale 1" : "scaled", .panel = i / 2});
    }
    figure.panels = {{"in fp32"}, {"in the recipe that trains"}};
    figure.key = Key::top_left;
    result.figure(std::move(figure));
}

/// Per gradient: zero in fp32 already; subnormal and lost in fp16 at scale 1; the same two with the loss scale.
void figure_shares(const Probes& probes, int binades, const std::string& evidence, Result& result) {
    Figure figure{
        "shares",
        fmt::format("Gradients that fp16 loses, and what a loss scale of {} gives back", power_of_two_text(binades)),
        "Shares of each tensor: zero in fp32 already; in fp16 subnormal or lost, at scale 1 and with the scale.",
        "Zeros of fp32 (pixels that are always black, units that are switched off) are zeros in any format. Lost in "
        "fp16 without the loss scale and with it:",
        evidence};
    const Histograms& plain = probes.snapshots.back().histograms;
    for (std::size_t i = 0; i < std::size(watched); ++i) {
        if (!is_gradient(watched[i].role)) continue;
        const BinadeHistogram& h = plain[i];
        const BinadeHistogram& s = probes.fp32_scaled[i];
        figure.series.push_back({title_of(watched[i]),
                                 formats::fp64,
                                 {{0, h.share(h.zeros())},
                                  {1, h.share(h.subnormal_in_fp16())},
                                  {2, h.share(h.lost_in_fp16())},
                                  {3, s.share(s.subnormal_in_fp16())},
                                  {4, s.share(s.lost_in_fp16())}}});
        figure.meaning += fmt::format(" {} {:.1f} % and {:.1f} %,", title_of(watched[i]),
                                      100 * h.share(h.lost_in_fp16()), 100 * s.share(s.lost_in_fp16()));
    }
    const auto lost = [](const BinadeHistogram& h) { return 100 * h.share(h.lost_in_fp16()); };
    figure.headline = fmt::format(
        "fp16 loses {:.1f} % of the gradients of a hidden layer; with a loss scale of {} {:.1f} %.",
        lost(plain[gradient_of_fc1]), power_of_two_text(binades), lost(probes.fp32_scaled[gradient_of_fc1]));
    figure.axes = {
        named_axis({"zero in fp32", "subnormal in fp16", "lost in fp16", "subnormal, scaled", "lost, scaled"}),
        percent_axis("share of the tensor")};
    draw_bars(figure);
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
        figure.looks[i].title = "gradient of " + figure.series[i].name.substr(figure.series[i].name.find(' ') + 1);
    }
    result.figure(std::move(figure));
}

constexpr TensorRole roles[] = {TensorRole::weight, TensorRole::activation, TensorRole::weight_gradient,
                                TensorRole::activation_gradient};

/// By how many binades the median of a gradient fell from the second frame to the last (the first is before any step).
/// A fall without end where no gradient is left.
double fall_of(const WatchedNet& net, TensorRole role) {
    const NetFrame& early = net.frames[std::min<std::size_t>(1, net.frames.size() - 1)];
    const std::optional<int> first = median_exponent(early.of(role));
    const std::optional<int> last = median_exponent(net.frames.back().of(role));
    return first && last ? *first - *last : std::numeric_limits<double>::infinity();
}

void claim_nets(const std::vector<WatchedNet>& nets, Result& result) {
    const std::string note = cite(sources::volta_talk, "A note on gradients during training");
    std::string falls;
    double steady = 0;
    for (const WatchedNet& net : nets) {
        const double fall = fall_of(net, TensorRole::weight_gradient);
        falls += fmt::format("{}{} {}", falls.empty() ? "" : ", ", net.name, 0 - fall);
        steady += fall <= 0 ? 1 : 0;
    }
    result.measured("gradients_shrink", note,
                    fmt::format("\"Gradient magnitudes become smaller during training\" is a popular belief and not "
                                "true for a number of networks. Of the four here the median weight gradient changes by "
                                "these powers of two: {}.",
                                falls),
                    at_least(2, steady, {"", "nets of 4 in which it does not fall", 1, 0}));
    const double plain = fall_of(nets[0], TensorRole::activation_gradient);
    const double normalised = fall_of(nets[1], TensorRole::activation_gradient);
    if (nets[1].name != "resnet20") {
        result.measured("normalisation_keeps", note,
                        "Normalisations tend to keep the distributions: with batch normalisation the median activation "
                        "gradient of the convolutional net moves at most half as far as without.",
                        at_most(std::fabs(plain) / 2, std::fabs(normalised), {"a move", "binades", 1, 1}));
    }
    const BinadeHistogram& emergent = nets[0].frames.back().of(TensorRole::activation_gradient);
    result.measured("emergent_zeros", cite(sources::notebook, "histogram of activation gradients of a detection net"),
                    "Most activation gradients of a net with relu and pools are exactly 0 by themselves: in the "
                    "trained convolutional net here more than half (67 % in the source's).",
                    above(0.5, emergent.share(emergent.zeros()), {"", "%", 100, 1}));
}

void figure_nets(const std::vector<WatchedNet>& nets, Result& result) {
    Figure figure{
        "nets", "Exponents over training: weights, activations, gradients",
        "Share of the numbers in each binade, in fp32. Moving as SVG; as PNG the first step dashed, the last solid.",
        "Middle exponents of the activation gradients, after the first step that is shown and at last:", ""};
    for (const WatchedNet& net : nets) {
        const NetFrame& early = net.frames[std::min<std::size_t>(1, net.frames.size() - 1)];
        figure.meaning +=
            fmt::format(" {} {} and {},", net.name, median_text(early.of(TensorRole::activation_gradient)),
                        median_text(net.frames.back().of(TensorRole::activation_gradient)));
        for (const TensorRole role : roles) {
            for (const NetFrame& frame : net.frames) {
                figure.series.push_back(
                    frame.of(role).series(fmt::format("{} {} {}", net.name, word_of(role), frame.step)));
            }
        }
    }
    figure.frames = static_cast<int>(nets.front().frames.size());
    figure.plot = "nets";
    result.figure(std::move(figure));
}

void replica(const RunContext& context, const std::vector<WatchedNet>& nets, Result& result) {
    constexpr std::int64_t count = 200000;
    const BinadeHistogram plain = published_replica(count, 1, context.seed);
    const BinadeHistogram scaled = published_replica(count, has_control(context, "unscaled") ? 1 : 8, context.seed);
    const auto kept = [](const BinadeHistogram& h) {
        return static_cast<double>(h.total() - h.zeros() - h.lost_in_fp16());
    };
    result.arithmetic(
        "replica_x8",
        cite(sources::notebook, "histogram of activation gradients of a detection net, from NVIDIA's documentation"),
        "A scale of 8, which sufficed for that net, moves all by three binades: in a replica with the published shares "
        "(calibrated to the source, not trained) half as many again and more survive.",
        near(published_shares.zeros, 0.005, plain.share(plain.zeros()), {"", "% zeros", 100, 1}) &&
            above(1.5, kept(scaled) / kept(plain), {"", "times as many kept", 1, 2}) &&
            equal(1, scaled.equals_shifted(plain, -3) ? 1 : 0, "histogram moved by 3 binades"));
    const BinadeHistogram& emergent = nets[0].frames.back().of(TensorRole::activation_gradient);
    const auto lost = [](const BinadeHistogram& h) { return 100 * h.share(h.lost_in_fp16()); };
    Figure figure{
        "replica",
        "The published histogram: what a scale of 8 does",
        "A replica with the published shares, and the activation gradients of the convolutional net trained here.",
        fmt::format("fp16 loses {:.1f} % of all numbers; {:.1f} % are not zero. Three binades to the right it loses "
                    "{:.1f} %; the net that it was taken from needed no larger scale.",
                    lost(plain), 100 * (1 - plain.share(plain.zeros())), lost(scaled)),
        "",
        {plain.series("replica scale 1"), scaled.series("replica scale 8"), emergent.series("trained here")}};
    draw_binades(figure, binade_axis(-48, 4), "share of all numbers");
    figure.looks = {{.mark = Mark::histogram}, {.mark = Mark::histogram}, {.mark = Mark::steps}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const auto binades = static_cast<int>(context.settings.integer("scale_exponent"));
    const auto images = [&](const char* key) { return context.settings.integer(key); };
    const DataSplit data = digits_of(context, result, {images("train_images"), images("test_images"), 28});
    const Settings& settings = context.settings;
    const std::string backend = mixed_backend(context);
    Arithmetic low{settings.text("recipe") + " on " + series_name(backend), recipe_by_name(settings.text("recipe")),
                   backend};
    const ProbeOptions probing{.net = dense_net({settings.integer("hidden")}),
                               .batch = settings.integer("batch"),
                               .steps = settings.integer("steps"),
                               .trained = low,
                               .scale = has_control(context, "unscaled") ? 1 : std::ldexp(1.0, binades)};
    if (has_control(context, "coarse_weights")) {
        low.recipe.weights = low.recipe.update = formats::e4m3;
        low.recipe.master_weights = false;
        low.recipe.loss_scale = constant_loss_scale(1);
    }
    const auto training_of = [&](const Arithmetic& arithmetic, const TaskBuilder& task) -> Training {
        return {.arithmetic = arithmetic,
                .task = task,
                .optimizer = {.learning_rate = settings.real("learning_rate"), .momentum = 0.9},
                .steps = probing.steps};
    };
    const Comparison runs = compare(context, result,
                                    {training_of(fp32_arithmetic(), images_task(probing.net, data, probing.batch)),
                                     training_of(low, probed_task(probing, data))},
                                    settings.integer("seeds"), {0, 0.6});
    Probes probes = runs.runs[1].front().kept<Probes>();
    if (has_control(context, "scaled_first")) probes.snapshots.back().histograms = probes.fp32_scaled;

    const std::string trained =
        "The weights were trained through " + runs.evidence + " The histograms are computed in fp32.";
    claim_training(runs, result);
    claim_gradients(probes, binades, result);
    figure_by_layer(probes, trained, result);
    figure_by_step(probes, trained, result);
    figure_shift(probes, binades, low.name, runs.evidence, result);
    figure_shares(probes, binades, trained, result);
    result.figure(figure_of_losses(runs, 5, "loss", "Training loss"));

    std::vector<WatchedNet> nets = train_watched_nets(
        context, result,
        {settings.integer("net_steps"), static_cast<int>(settings.integer("frames")), settings.text("normalised")},
        {0.6, 1});
    if (has_control(context, "lstm")) nets.assign(nets.size(), nets[2]);
    if (has_control(context, "swapped")) std::swap(nets[0], nets[1]);
    claim_nets(nets, result);
    replica(context, nets, result);
    figure_nets(nets, result);
}

}  // namespace

Experiment experiment() {
    return {
        "gradient_histogram",
        "Gradient histograms: where the numbers of a training run lie",
        "Which exponents do weights, activations and gradients have, and which of them does fp16 lose?",
        {Chapter::underflow, 2},
        {integer_setting("steps", "training steps", 240, 4000, 8, 1000000).smoke(24),
         integer_setting("batch", "images a step", 64, 64, 1, 4096),
         integer_setting("hidden", "width of the hidden layer", 128, 128, 8, 4096).smoke(16),
         integer_setting("train_images", "generated digits to train on", 4000, 20000, 1, 1000000).smoke(600),
         integer_setting("test_images", "generated digits to test on", 1000, 2000, 1, 1000000).smoke(100),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100),
         real_setting("learning_rate", "of stochastic gradient descent with momentum 0.9", 0.05, 0.05, 0, 10),
         integer_setting("scale_exponent", "the loss scale of the figures is 2 to this power", 16, 16, 1, 24),
         integer_setting("net_steps", "training steps of the CNNs, the LSTM and the Transformer", 100, 2000, 8, 1000000)
             .smoke(8),
         integer_setting("frames", "of the moving figure", 8, 16, 2, 100).smoke(2),
         text_setting("normalised", "net on batch normalisation that is looked at", "plain", {"plain", "resnet20"})
             .published(std::string("resnet20")),
         text_setting("recipe", "how to train", "mixed_fp16", {"fp32", "tf32", "bf16", "mixed_fp16", "fp16"}),
         control_setting("unscaled looks at gradients without the loss scale, scaled_first with it from the start; "
                         "coarse_weights trains E4M3 weights without masters and scale; lstm takes the LSTM in each "
                         "watched net's place, swapped the normalised net for the plain one",
                         {"unscaled", "scaled_first", "coarse_weights", "lstm", "swapped"}),
         path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
        run,
        {Control("control=unscaled", "shift replica_x8"), Control("control=lstm", "emergent_zeros"),
         Control("control=coarse_weights", "accuracy parity unused_range", RunSize::smoke, "steps=80 hidden=32"),
         Control("control=scaled_first", "shift lost", RunSize::quick, "seeds=1 net_steps=8"),
         Control("control=scaled_first", "shift unused_range", RunSize::quick, "seeds=1 net_steps=8 scale_exponent=6"),
         Control("control=lstm", "gradients_shrink normalisation_keeps emergent_zeros", RunSize::quick,
                 "seeds=1 steps=8 train_images=600 test_images=50"),
         Control("control=swapped", "normalisation_keeps emergent_zeros", RunSize::quick,
                 "seeds=1 steps=8 train_images=600 test_images=50")},
        Effect{"replica_x8",
               "a histogram with the shares of a published one, beside those of the nets trained here",
               {"coordinate_net", "big_lstm"}}};
}

}  // namespace ulp::gradient_histogram_experiment
