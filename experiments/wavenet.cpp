// WaveNet on generated tones: do the loss curves of fp32 and of mixed precision overlap?
#include <numeric>

#include "engine/data/dataset.hpp"
#include "engine/data/generated.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::wavenet_experiment {
namespace {

// The talk's net with an eighth of its channels.
constexpr Index residual_channels = 64 / 8;
constexpr Index gate_channels = 64 / 8;  // and as many filters: 128 / 8 channels of dilated convolution
constexpr Index skip_channels = 256 / 8;
constexpr Index layers = 12;
constexpr Index layers_until_reset = 6;
constexpr Index codes = 256;

/// A dilated convolution of two samples, tanh times sigmoid of its halves, and the ways on: x plus what was made, and
/// to the scores.
struct GatedLayer {
    std::string name;
    Conv1d dilated;
    Conv1d residual;
    Conv1d skip;

    GatedLayer(Model& model, const std::string& layer_name, Index dilation)
        : name(layer_name),
          dilated(model, name + ".dilated", residual_channels, 2 * gate_channels, 2,
                  {.padding = dilation, .dilation = dilation}),
          residual(model, name + ".residual", gate_channels, residual_channels, 1),
          skip(model, name + ".skip", gate_channels, skip_channels, 1) {}

    struct Ways {
        Var on;
        Var skip;
    };
    Ways operator()(Var x) const {
        const Var both = slice(dilated(x), 2, 0, x.dim(2));  // what lies behind would see later samples
        const Var filter = tanh(slice(both, 1, 0, gate_channels));
        const Var gate = sigmoid(slice(both, 1, gate_channels, gate_channels));
        const Var made = multiply(filter, gate);
        return {add(x, residual(made)), skip(made)};
    }
};

struct WaveNet {
    Embedding samples;
    std::vector<GatedLayer> gated;
    Conv1d hidden;
    Conv1d out;

    explicit WaveNet(Model& model)
        : samples(model, "samples", codes, residual_channels),
          hidden(model, "hidden", skip_channels, skip_channels, 1),
          out(model, "out", skip_channels, codes, 1) {
        for (Index i = 0; i < layers; ++i) {
            gated.emplace_back(model, fmt::format("layer{}", i), Index{1} << i % layers_until_reset);
        }
    }
    /// Scores of the next code, (clips * length, codes); each sees codes up to its own place alone.
    Var operator()(Tape& tape, const std::vector<int>& ids, Index clips) const {
        const Index length = static_cast<Index>(ids.size()) / clips;
        Var x = permute(samples(tape, ids, {clips, length}), {0, 2, 1});
        std::optional<Var> sum;
        for (const GatedLayer& layer : gated) {
            const GatedLayer::Ways ways = layer(x);
            x = ways.on;
            sum = sum ? add(*sum, ways.skip) : ways.skip;
        }
        const Var scores = permute(out(relu(hidden(relu(*sum)))), {0, 2, 1});
        return reshape(scores, {clips * length, codes});
    }
};

/// Clips as mu-law codes: what the net hears, and what it should say.
struct Codes {
    std::vector<int> ids;
    std::vector<int> next;

    Codes(const ToneData& tones, const std::vector<Index>& which) {
        for (const Index i : which) {
            const std::vector<std::int16_t>& clip = tones.clips[static_cast<std::size_t>(i)];
            for (std::size_t t = 0; t + 1 < clip.size(); ++t) {
                ids.push_back(mu_law_code(clip[t]));
                next.push_back(mu_law_code(clip[t + 1]));
            }
        }
    }
};

struct Corpus {
    ToneData train;
    ToneData test;
};

constexpr std::size_t unseen_loss = 0;

/// Every seed hears the same clips in the same order, so that curves differ by initial weights or arithmetic alone.
/// Score: the loss on unseen clips.
TaskBuilder tones_task(const Corpus& corpus, Index batch, std::uint64_t order_seed) {
    return [=, &corpus](Model& model, std::uint64_t) -> Task {
        const WaveNet net(model);
        const auto order = batches(static_cast<Index>(corpus.train.clips.size()), batch, order_seed);
        const auto loss = [=, &corpus](Tape& tape, std::int64_t step) {
            const Codes heard(corpus.train, order(step));
            return cross_entropy(net(tape, heard.ids, batch), heard.next);
        };
        return {.loss = loss, .measure = [=, &corpus](Evaluation& evaluation, Learned& learned) {
                    const auto clips = static_cast<Index>(corpus.test.clips.size());
                    const Codes unseen(corpus.test, index_range(0, clips));
                    Tape tape(evaluation);
                    const Var loss_there = cross_entropy(net(tape, unseen.ids, clips), unseen.next);
                    learned.scores = {static_cast<double>(loss_there.value()[0])};
                }};
    };
}

/// Mean over the seeds of |a - b| in each step, where b's run is that of the seed `shift` further on.
std::vector<double> distances(const std::vector<Learned>& a, const std::vector<Learned>& b, std::size_t shift) {
    std::vector<double> sum(a.front().losses.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::vector<double>& other = b[(i + shift) % b.size()].losses;
        for (std::size_t t = 0; t < sum.size(); ++t) sum[t] += std::fabs(a[i].losses[t] - other[t]);
    }
    for (double& d : sum) d /= static_cast<double>(a.size());
    return sum;
}

/// The first and the last place that the scores at a place depend on: every place says a code of its own, so that the
/// gradient of the codes' table tells which were heard.
std::pair<Index, Index> heard_at(Index place) {
    Model model(recipe_by_name("fp32"), 1);
    const WaveNet net(model);
    std::vector<int> ids(codes);
    std::iota(ids.begin(), ids.end(), 0);
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    tape.backward(cross_entropy(slice(net(tape, ids, 1), 0, place, 1), {0}));
    Index first = codes;
    Index last = -1;
    const Tensor& gradient = model["samples.weight"].gradient;
    for (Index i = 0; i < gradient.size(); ++i) {
        if (gradient[i] == 0) continue;
        first = std::min(first, i / residual_channels);
        last = std::max(last, i / residual_channels);
    }
    return {first, last};
}

/// The loss on unseen clips of one who knows how often each code was heard, and nothing else.
double frequency_loss(const Corpus& corpus) {
    std::vector<double> heard(codes, 1);
    const Codes train(corpus.train, index_range(0, static_cast<Index>(corpus.train.clips.size())));
    for (const int code : train.next) heard[static_cast<std::size_t>(code)] += 1;
    const auto all = static_cast<double>(train.next.size() + codes);
    const Codes test(corpus.test, index_range(0, static_cast<Index>(corpus.test.clips.size())));
    double loss = 0;
    for (const int code : test.next) loss -= step::log(heard[static_cast<std::size_t>(code)] / all);
    return loss / static_cast<double>(test.next.size());
}

Figure figure_of_distances(const std::vector<std::pair<std::string, std::vector<double>>>& curves,
                           std::string evidence) {
    const std::size_t window = std::min<std::size_t>(5, curves.front().second.size());
    Figure figure{"distances", "How far the curves lie from fp32's",
                  fmt::format("Mean over the seeds of the difference to fp32's loss on the same batch, whatever its "
                              "sign; mean of {} steps.",
                              window),
                  "Means over all steps:", std::move(evidence)};
    for (const auto& [name, values] : curves) {
        Series series{name, formats::fp64, window_means(values, window, 0.5 * static_cast<double>(window - 1))};
        std::erase_if(series.points, [](const Point& point) { return !(point.y > 0); });  // the axis is logarithmic
        figure.meaning += fmt::format(" {} {:.4f},", name, mean_of(values));
        figure.series.push_back(std::move(series));
    }
    figure.axes = {step_axis(), {.label = "distance of the losses", .log_base = 10, .room = 0.1}};
    figure.looks = {{.width = 3}};
    return figure;
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    ToneOptions options{
        .count = settings.integer("clips"), .samples = settings.integer("clip_samples") + 1, .seed = context.seed};
    Corpus corpus{generated_tones(options), {}};
    options.count = settings.integer("test_clips");
    corpus.test = generated_tones(options, "test");
    result.input({"generated tones for training", corpus.train.digest()});
    result.input({"generated tones for testing", corpus.test.digest()});
    const Index batch = std::min<Index>(static_cast<Index>(corpus.train.clips.size()), settings.integer("batch"));
    // The gradient of a score is at most 1 / samples of a batch. This constant makes it 2^-17.
    const LossScaleOptions many_samples =
        constant_loss_scale(static_cast<double>(batch * settings.integer("clip_samples")) * 0x1p-17);
    Arithmetic mixed = mixed_arithmetic(context, "mixed fp16", dynamic_loss_scale(settings.integer("scale_window")));
    Arithmetic unscaled = mixed_arithmetic(context, "fp16 unscaled at 131072 samples", many_samples);
    if (has_control(context, "unscaled")) mixed.recipe.loss_scale = many_samples;
    if (has_control(context, "scaled")) unscaled.recipe.loss_scale = mixed.recipe.loss_scale;
    const Training training{.task = tones_task(corpus, batch, context.seed),
                            .optimizer = adam_of(settings),
                            .steps = settings.integer("steps")};
    const Comparison runs = compare(context, result, {fp32_arithmetic(), std::move(mixed), std::move(unscaled)},
                                    training, settings.integer("seeds"));
    const std::string place = cite(sources::volta_talk, "WaveNet: mixed precision and fp32");
    const auto [first, last] = heard_at(200);
    result.arithmetic("receptive_field",
                      cite(sources::volta_talk, "12 layers of dilated convolutions, reset every 6 layers"),
                      "With dilations 1, 2, 4, ... 32, twice over, a score hears its own place and the 126 before it.",
                      equal(126, 200 - first, "places before") && equal(0, last - 200, "behind"));
    const Quantity nats{"loss", "", 1, 3};
    const double by_frequency = frequency_loss(corpus);
    result.measured("learns", place,
                    "The net learns to continue tones in fp32: on unseen clips it needs less than the codes' "
                    "frequencies alone would, by a twentieth or more.",
                    at_most(0.95 * by_frequency, runs.mean(0, unseen_loss), nats));
    const std::vector<double> of_seeds = distances(runs.runs[0], runs.runs[0], 1);
    const std::vector<double> of_mixed = distances(runs.runs[1], runs.runs[0], 0);
    const std::vector<double> of_unscaled = distances(runs.runs[2], runs.runs[0], 0);
    const Quantity distance{"mean distance", "", 1, 4};
    const auto against_seeds = [&](const auto& check, const std::vector<double>& measured) {
        if (settings.integer("seeds") > 1) return check(mean_of(of_seeds), mean_of(measured), distance);
        return Check{"the mean distance of two seeds",
                     distance.text(mean_of(measured)) + "; at least 2 seeds would tell", Outcome::undecided};
    };
    result.measured("curves_overlap", place,
                    "The loss curves of mixed precision and fp32 overlap: over all steps and seeds they lie nearer to "
                    "each other, batch by batch, than two fp32 curves from other initial weights.",
                    against_seeds(below, of_mixed));
    result.measured("unscaled_leaves", cite(sources::volta_talk, "Loss scaling"),
                    "Without a loss scale they would not: gradients as small as a batch of 131072 samples makes them "
                    "(the mean divides by it) take the curve further away than another seed does.",
                    against_seeds(above, of_unscaled));
    const Margin margin{0.02, "the right code's probability falls by 2 %", Margin::Side::not_above};
    claim_parity(result, runs, unseen_loss, nats, margin, "unseen", place, "Unseen tones are continued as well.", 1);
    result.figure(figure_of_losses(runs, 5, "loss", "WaveNet: training loss", false,
                                   "The source's slide shows two curves that lie on each other. The third curve here "
                                   "tells what gradients that fp16 loses would do."));
    result.figure(figure_of_distances({{"fp32 from other initial weights", of_seeds},
                                       {"mixed fp16", of_mixed},
                                       {runs.arithmetics[2].name, of_unscaled}},
                                      runs.evidence));
}

}  // namespace

Experiment experiment() {
    return {
        "wavenet",
        "WaveNet: loss curves that overlap",
        "Does the loss of a WaveNet in mixed precision follow the one in fp32?",
        {Chapter::language, 8},
        {integer_setting("steps", "training steps", 80, 1000, 2, 1000000).smoke(24),
         integer_setting("batch", "clips a step", 2, 4, 1, 4096),
         integer_setting("clip_samples", "of a clip", 128, 256, 16, 100000),
         integer_setting("clips", "generated, to train on", 200, 2000, 1, 1000000).smoke(20),
         integer_setting("test_clips", "generated, to test on", 10, 50, 1, 100000).smoke(2),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2),
         integer_setting("scale_window", "clean steps until the loss scale grows", 20, 200, 1, 1000000),
         real_setting("learning_rate", "of Adam", 2e-2, 5e-3, 0, 10),
         control_setting("unscaled takes the loss scale of mixed precision away, scaled gives one to the third run",
                         {"unscaled", "scaled"})},
        run,
        {Control("control=unscaled", "curves_overlap"), Control("control=scaled", "unscaled_leaves"),
         Control("control=unscaled", "curves_overlap unseen", RunSize::quick, "seeds=2"),
         Control("learning_rate=0", "learns unscaled_leaves unseen", RunSize::quick, "seeds=2")},
        Effect{
            "unscaled_leaves",
            "a loss scale below 1 in the third run, which makes gradients as small as a mean over 131072 samples would",
            {"coordinate_net", "big_lstm"}}};
}

}  // namespace ulp::wavenet_experiment
