// Speech recognition: a small Deep Speech 2 reads phonemes off spectra, in fp32, in mixed precision, and with weights
// of 10 and fewer fraction bits that have no fp32 masters.
#include "engine/data/generated.hpp"
#include "engine/layers/decoding.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::speech_experiment {
namespace {

/// Utterances as one batch, with silence behind the shorter ones.
struct SpokenBatch {
    Index frames = 0;
    Matrix spectra;  // utterances x (frames * bins), about 0
    std::vector<CtcTarget> targets;

    SpokenBatch(const SpeechData& data, const std::vector<Index>& which) {
        const auto frames_of = [&](Index i) {
            return static_cast<Index>(data.utterances[static_cast<std::size_t>(i)].spectrum.size()) / data.bins;
        };
        for (const Index i : which) frames = std::max(frames, frames_of(i));
        spectra = Matrix::Zero(static_cast<Index>(which.size()), frames * data.bins);
        for (std::size_t row = 0; row < which.size(); ++row) {
            const Utterance& utterance = data.utterances[static_cast<std::size_t>(which[row])];
            for (std::size_t i = 0; i < utterance.spectrum.size(); ++i) {
                spectra(static_cast<Index>(row), static_cast<Index>(i)) =
                    (static_cast<float>(utterance.spectrum[i]) - 64) / 64;
            }
            targets.push_back({utterance.phonemes, (frames_of(which[row]) + 1) / 2});  // the net halves the time
        }
    }
};

/// Convolutions over time and frequency, each halved by the first; gated recurrent units; a convolution over the frames
/// that follow, unit by unit, where there is one ("row convolution"); scores of the phonemes and the blank.
struct Listener {
    Index bins;
    Conv2d conv;
    std::vector<Conv2d> more;
    std::vector<Gru> cells;
    std::vector<Conv1d> ahead;  // one, or none
    Linear out;

    Listener(Model& model, Index spectrum_bins, const Settings& settings, Index classes)
        : bins(spectrum_bins),
          conv(model, "conv", 1, settings.integer("channels"), settings.integer("kernel"),
               {.stride = 2, .padding = settings.integer("kernel") / 2}),
          out(model, "out", settings.integer("hidden"), classes) {
        const Index channels = settings.integer("channels");
        const Index kernel = settings.integer("kernel");
        const Index hidden = settings.integer("hidden");
        for (Index i = 1; i < settings.integer("convolutions"); ++i) {
            more.emplace_back(model, fmt::format("conv{}", i + 1), channels, channels, kernel,
                              ConvOptions{.padding = kernel / 2});
        }
        for (Index i = 0; i < settings.integer("layers"); ++i) {
            const Index in = i == 0 ? channels * ((bins + 1) / 2) : hidden;
            cells.emplace_back(model, fmt::format("gru{}", i + 1), in, hidden);
        }
        if (const Index context = settings.integer("context"); context > 0) {
            ahead.emplace_back(model, "ahead", hidden, hidden, context + 1,
                               ConvOptions{.padding = context, .groups = hidden});
        }
    }
    /// Each unit's own weights over this frame and those that follow: (time, batch, hidden) in and out.
    [[nodiscard]] Var with_next_frames(Var x) const {
        const Var rows = ahead.front()(permute(x, {1, 2, 0}));  // as long as `time` and the frames of padding before it
        return permute(slice(rows, 2, rows.dim(2) - x.dim(0), x.dim(0)), {2, 0, 1});
    }
    /// Log-probabilities (time, batch, classes).
    Var operator()(Tape& tape, const SpokenBatch& batch) const {
        const Var spectra = images_on(tape, batch.spectra);
        Var x = relu(conv(reshape(spectra, {batch.spectra.rows(), 1, batch.frames, bins})));
        for (const Conv2d& next : more) x = relu(next(x));
        x = permute(x, {2, 0, 1, 3});
        x = reshape(x, {x.dim(0), x.dim(1), x.dim(2) * x.dim(3)});
        for (const Gru& cell : cells) x = cell(x);
        if (!ahead.empty()) x = with_next_frames(x);
        return log_softmax(scaled(out(x), 4));  // sharper scores get away sooner from all blanks, where ctc begins
    }
};

/// Edits that turn what the net says into what was said, a phoneme.
double error_rate(Evaluation& evaluation, const Listener& net, const SpeechData& data) {
    Index edits = 0;
    std::size_t phonemes = 0;
    constexpr Index at_once = 50;
    const auto count = static_cast<Index>(data.utterances.size());
    for (Index first = 0; first < count; first += at_once) {
        const std::vector<Index> which = index_range(first, std::min(first + at_once, count));
        const SpokenBatch batch(data, which);
        Tape tape(evaluation);
        const Tensor& scores = net(tape, batch).value();
        for (std::size_t i = 0; i < which.size(); ++i) {
            const CtcTarget& target = batch.targets[i];
            edits += edit_distance(best_path(scores, static_cast<Index>(i), target.steps), target.labels);
            phonemes += target.labels.size();
        }
    }
    return static_cast<double>(edits) / static_cast<double>(phonemes);
}

struct Corpus {
    SpeechData train;
    SpeechData test;
};

constexpr int phonemes = 12;
constexpr std::size_t errors = 0;
constexpr std::size_t lost = 1;

/// Scores: errors per phoneme on the test utterances; the share of the updates that left their weight as it was.
TaskBuilder hearing(const Settings& settings, const Corpus& corpus) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const Listener net(model, corpus.train.bins, settings, phonemes + 1);
        const auto utterances = static_cast<Index>(corpus.train.utterances.size());
        const auto order = batches(utterances, std::min(utterances, settings.integer("batch")), seed);
        const auto counts = std::make_shared<UpdateCounts>();
        Task task{.loss = [=, &corpus](Tape& tape, std::int64_t step) {
            const SpokenBatch batch(corpus.train, order(step));
            return ctc(net(tape, batch), batch.targets);
        }};
        task.after_step = [counts](Trainer& trainer, const StepResult& done) {
            if (done.skipped) return;
            counts->weights += trainer.optimizer().counts().weights;
            counts->swamped += trainer.optimizer().counts().swamped;
        };
        task.measure = [=, &corpus](Evaluation& evaluation, Learned& learned) {
            learned.scores = {
                error_rate(evaluation, net, corpus.test),
                static_cast<double>(counts->swamped) / static_cast<double>(std::max<std::int64_t>(1, counts->weights))};
        };
        return task;
    };
}

/// Fraction bits of the weights without masters; with masters the first and the last. fp16 has 10.
constexpr int fraction_bits[] = {10, 7, 4, 3};
constexpr int fewest = fraction_bits[std::size(fraction_bits) - 1];
/// Places among the arithmetics.
constexpr std::size_t fp32 = 0;
constexpr std::size_t masters = 1;
constexpr std::size_t masters_fewest = 2;
constexpr std::size_t bare = 3;  // and on, as fraction_bits
constexpr std::size_t bare_fewest = bare + std::size(fraction_bits) - 1;

std::vector<Arithmetic> arithmetics_of(const RunContext& context) {
    const auto with = [&](int bits, bool has_masters) {
        Arithmetic arithmetic =
            mixed_arithmetic(context,
                             fmt::format("{} {} masters", bits == 10 ? "fp16" : fmt::format("{} bits", bits),
                                         has_masters ? "with" : "without"),
                             dynamic_loss_scale(context.settings.integer("scale_window"), 0x1p10));
        arithmetic.recipe.weights = ieee_format(5, bits);
        arithmetic.recipe.master_weights = has_masters || has_control(context, "masters");
        return arithmetic;
    };
    std::vector<Arithmetic> all{fp32_arithmetic(), with(10, true)};
    if (context.size == RunSize::published) return under_control(context, std::move(all));
    all.push_back(with(fewest, true));
    for (const int bits : fraction_bits) all.push_back(with(bits, false));
    return under_control(context, std::move(all));
}

const Quantity error_rates{"errors per phoneme", "%", 100, 1};
const Margin margin{0.01, "one phoneme in a hundred; the source's own nets differ by 0.2 and 0.8",
                    Margin::Side::not_above};

void claim_recognition(const Comparison& runs, Result& result) {
    const std::string place = cite(sources::volta_talk, "Speech: character error rate");
    result.measured("learns", place, "The net learns to hear phonemes in fp32.",
                    at_most(0.25, runs.mean(fp32, errors), error_rates));
    claim_parity(result, runs, errors, error_rates, margin, "parity", place,
                 "In mixed precision the error rate is fp32's (Deep Speech 2: 2.20 and 1.99 in English, 15.82 and "
                 "15.01 in Mandarin).",
                 masters);
}

void claim_masters(const Comparison& runs, Result& result) {
    const std::string talk =
        cite(sources::volta_talk, "FP16 mantissa is sufficient for some networks, some require FP32");
    claim_parity(
        result, runs, errors, error_rates, margin, "ten_bits_suffice", talk,
        "A training of so few steps takes steps so large that fp16's ten fraction bits are enough without masters.",
        bare);
    // Accuracy is 1 less the errors.
    std::vector<double> bare_accuracy;
    std::vector<double> half_of_fp32;
    for (std::size_t seed = 0; seed < runs.runs[fp32].size(); ++seed) {
        bare_accuracy.push_back(1 - runs.runs[bare_fewest][seed].scores[errors]);
        half_of_fp32.push_back((1 - runs.runs[fp32][seed].scores[errors]) / 2);
    }
    const Margin none{0, "half of fp32's accuracy", Margin::Side::not_below};
    const std::string narrow = fmt::format(
        "Where the weights' spacing is {0} times as wide ({1} fraction bits instead of 10), as it would be beside "
        "updates {0} times as small",
        1 << (10 - fewest), fewest);
    result.measured(
        "collapse", cite(sources::paper, "3.1: updating fp16 weights results in 80% relative accuracy loss"),
        narrow +
            ", training without masters fails: the speech net there lost 80 % of its accuracy, this one at least half.",
        falls_short(bare_accuracy, half_of_fp32, none, {"accuracy", "%", 100, 1}));
    claim_parity(result, runs, errors, error_rates, margin, "masters_mend",
                 cite(sources::volta_talk, "FP32 Master weights and update"),
                 narrow + ", fp32 masters give fp32's error rate back.", masters_fewest);
    const Quantity share{"updates lost", "%", 100, 1};
    result.measured("updates_lost",
                    cite(sources::volta_talk, "Weight update: if w >> lr * dw then update doesn't change w"),
                    narrow + ", most updates leave their weight as it was; on masters next to none does.",
                    above(0.8, runs.mean(bare_fewest, lost), share).at("without masters") &&
                        below(0.01, runs.mean(masters_fewest, lost), share).at("with masters"));
}

/// A score by fraction bits: the middle of the seeds, and their range.
Figure figure_by_bits(const Comparison& runs, std::size_t score, const Quantity& text, std::string name,
                      std::string title, std::string meaning, std::string evidence) {
    Figure figure{std::move(name), std::move(title), "", std::move(meaning), std::move(evidence)};
    const auto spread = [&](std::size_t arithmetic) {
        std::vector<double> values;
        for (const Learned& run : runs.runs[arithmetic]) values.push_back(text.factor * run.scores[score]);
        return spread_of(std::move(values));
    };
    Bars with("with fp32 masters");
    with.add(10, spread(masters));
    with.add(fewest, spread(masters_fewest));
    Bars without("without masters");
    for (std::size_t i = 0; i < std::size(fraction_bits); ++i) without.add(fraction_bits[i], spread(bare + i));
    for (auto* bars : {&with, &without}) {
        const int colour = bars == &with ? 8 : 5;
        bars->move_into(figure, {.mark = Mark::linespoints, .colour = colour, .size = 1.3});
        figure.looks.back() = {.mark = Mark::ranges, .colour = colour, .width = 5, .title = ""};
    }
    const Spread reference = spread(fp32);
    figure.caption = fmt::format("Marks: median of {}; lines, where longer than a mark: minimum to maximum. {}.",
                                 counted(runs.runs.front().size(), "seed"),
                                 reference.width() > 0 ? "Grey: fp32's minimum to maximum"
                                                       : fmt::format("fp32: {:g} % with every seed", reference.least));
    figure.meaning += " Medians without masters:";
    for (std::size_t i = 0; i < std::size(fraction_bits); ++i) {
        figure.meaning +=
            fmt::format(" {} bits {:.1f} %,", static_cast<int>(fraction_bits[i]), spread(bare + i).middle);
    }
    figure.meaning += fmt::format(" fp32 {:.1f} %.", reference.middle);
    figure.series.push_back({"fp32", formats::fp64, {{0, reference.least}, {0, reference.largest}}});
    figure.looks.push_back({.mark = Mark::none});
    figure.axes = {{.label = "fraction bits of the weights (fp16: 10)", .from = 10.4, .to = 2.6, .step = 1.0},
                   {.label = text.name, .from = 0.0, .room = 0.1}};
    if (reference.width() > 0) {
        figure.guides = {{.bottom = reference.least, .top = reference.largest, .strength = 0.25}};
    }
    return figure;
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    if (settings.integer("kernel") % 2 == 0) {
        throw UsageError(fmt::format("kernel={} is even, and a convolution here looks as far to both sides; take {}",
                                     settings.integer("kernel"), settings.integer("kernel") + 1));
    }
    SpeechOptions options{.count = settings.integer("utterances"),
                          .phonemes = phonemes,
                          .max_length = static_cast<int>(settings.integer("most_phonemes")),
                          .bins = static_cast<int>(settings.integer("bins")),
                          .seed = context.seed,
                          .noise = 90};
    Corpus corpus{generated_speech(options), {}};
    options.count = settings.integer("test_utterances");
    corpus.test = generated_speech(options, "test");
    result.input({"generated utterances for training", corpus.train.digest()});
    result.input({"generated utterances for testing", corpus.test.digest()});
    const Training training{
        .task = hearing(settings, corpus), .optimizer = adam_of(settings), .steps = settings.integer("steps")};
    const Comparison runs = compare(context, result, arithmetics_of(context), training, settings.integer("seeds"));
    claim_recognition(runs, result);
    if (context.size == RunSize::published) {
        result.figure(
            figure_of_losses(runs, 5, "loss", "Deep Speech 2: loss of connectionist temporal classification"));
        return;
    }
    claim_masters(runs, result);

    Comparison shown;
    shown.evidence = runs.evidence;
    for (const std::size_t i : {fp32, masters, bare, masters_fewest, bare_fewest}) {
        shown.arithmetics.push_back(runs.arithmetics[i]);
        shown.runs.push_back(runs.runs[i]);
    }
    Figure losses = figure_of_losses(
        shown, 5, "loss", "Small Deep Speech 2: loss of connectionist temporal classification", true,
        "fp16 has 10 fraction bits. With fewer the weights lie further apart, as they do beside smaller updates.");
    losses.axes.y.to = 50;
    result.figure(std::move(losses));
    result.figure(figure_by_bits(
        runs, errors, {"errors per phoneme, %", "%", 100, 1}, "errors",
        "Errors on unseen utterances, by the fraction bits of the weights",
        "Each bit less doubles the weights' spacing beside their updates, as halved updates would.", runs.evidence));
    result.figure(figure_by_bits(runs, lost, {"updates that change nothing, %", "%", 100, 1}, "lost",
                                 "Updates that leave their weight as it was",
                                 "Updates half as large are lost as with one bit less.", runs.evidence));
}

}  // namespace

Experiment experiment() {
    return {
        "speech",
        "Speech recognition with and without master weights",
        "Does a small Deep Speech 2 transcribe as well in mixed precision, and when does it need fp32 masters?",
        {Chapter::language, 6},
        {integer_setting("steps", "training steps", 120, 800, 2, 1000000).smoke(40).published(150),
         integer_setting("batch", "utterances a step", 8, 16, 1, 4096),
         integer_setting("bins", "of a spectrum", 24, 24, 16, 128).published(128),
         integer_setting("convolutions", "over time and frequency", 1, 1, 1, 8).published(2),
         integer_setting("kernel", "frames and bins that a convolution sees; odd", 5, 5, 1, 101).published(11),
         integer_setting("channels", "of the convolutions", 8, 8, 1, 256).published(32),
         integer_setting("hidden", "gated recurrent units a layer", 32, 48, 2, 4096).published(2560),
         integer_setting("layers", "of gated recurrent units", 1, 2, 1, 8).published(3),
         integer_setting("context", "following frames that the row convolution sees; 0: there is none", 0, 0, 0, 100)
             .published(20),
         integer_setting("most_phonemes", "of an utterance", 3, 5, 2, 40),
         integer_setting("utterances", "generated, to train on", 500, 5000, 1, 1000000).smoke(50),
         integer_setting("test_utterances", "generated, to test on", 100, 500, 1, 100000).smoke(10),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(1).published(1),
         integer_setting("scale_window", "clean steps until the loss scale grows", 20, 200, 1, 1000000),
         real_setting("learning_rate", "of Adam", 4e-3, 2e-3, 0, 10).published(3e-4),
         mixed_control("masters gives masters to all", {"masters"})},
        run,
        {Control("control=masters", "updates_lost"),
         Control("control=masters", "collapse updates_lost", RunSize::quick, "seeds=2"),
         Control("control=no_masters", "masters_mend updates_lost", RunSize::quick, "seeds=2"),
         Control("control=scale_2^-16", "parity ten_bits_suffice masters_mend updates_lost", RunSize::quick, "seeds=2"),
         Control("learning_rate=0", "learns parity ten_bits_suffice collapse masters_mend updates_lost", RunSize::quick,
                 "seeds=2")},
        Effect{"collapse",
               "weights of 3 fraction bits instead of 10",
               {"fine_tuned_digits", "fine_tuned_text", "decayed_rate"}}};
}

}  // namespace ulp::speech_experiment
