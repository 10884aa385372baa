// wav2letter: speech recognition by convolutions over time alone, in fp32 and in mixed precision.
#include "engine/data/dataset.hpp"
#include "engine/data/generated.hpp"
#include "engine/layers/decoding.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::wav2letter_experiment {
namespace {

constexpr int phoneme_kinds = 12;

/// Utterances as (count, bins, frames), with silence behind the shorter ones.
struct SpectrumBatch {
    Tensor spectra;
    std::vector<CtcTarget> targets;

    SpectrumBatch(const SpeechData& data, const std::vector<Index>& which) {
        const auto utterance_of = [&](Index i) -> const Utterance& {
            return data.utterances[static_cast<std::size_t>(i)];
        };
        const auto frames_of = [&](Index i) { return static_cast<Index>(utterance_of(i).spectrum.size()) / data.bins; };
        Index frames = 0;
        for (const Index i : which) frames = std::max(frames, frames_of(i));
        spectra = Tensor({static_cast<Index>(which.size()), data.bins, frames});
        for (std::size_t row = 0; row < which.size(); ++row) {
            const Utterance& utterance = utterance_of(which[row]);
            for (Index f = 0; f < frames_of(which[row]); ++f) {
                for (Index bin = 0; bin < data.bins; ++bin) {
                    const int loudness = utterance.spectrum[static_cast<std::size_t>(f * data.bins + bin)];
                    spectra[(static_cast<Index>(row) * data.bins + bin) * frames + f] =
                        (static_cast<float>(loudness) - 64) / 64;
                }
            }
            targets.push_back({utterance.phonemes, (frames_of(which[row]) + 1) / 2});  // the net halves the time
        }
    }
};

/// Collobert, Puhrsch and Synnaeve, "Wav2Letter: an end-to-end ConvNet-based speech recognition system" (2016), in
/// small: a convolution with stride 2, convolutions over time, and two wide ones. The spectrum's bins are channels. At
/// --published its layers as its figure 2 has them for spectra, 23 million parameters.
struct ConvListener {
    std::vector<Conv1d> hidden;
    Conv1d out;

    ConvListener(Model& model, Index bins, const Settings& settings)
        : out(model, "out", settings.integer("last_channels"), phoneme_kinds + 1, 1) {
        const auto add = [&](Index from, Index to, Index kernel, Index stride = 1) {
            hidden.emplace_back(model, fmt::format("conv{}", hidden.size() + 1), from, to, kernel,
                                ConvOptions{.stride = stride, .padding = kernel / 2});
        };
        const Index channels = settings.integer("channels"), wide = settings.integer("last_channels");
        add(bins, channels, settings.integer("first_kernel"), 2);
        for (Index i = 1; i < settings.integer("layers"); ++i) add(channels, channels, settings.integer("kernel"));
        add(channels, wide, settings.integer("last_kernel"));
        if (settings.integer("last_kernel") > 1) add(wide, wide, 1);
    }
    /// Log-probabilities (time, count, classes).
    Var operator()(Tape& tape, const SpectrumBatch& batch) const {
        Var x = tape.input(batch.spectra);
        for (const Conv1d& layer : hidden) x = relu(layer(x));
        return log_softmax(scaled(permute(out(x), {2, 0, 1}), 4));  // away sooner from all blanks, where ctc begins
    }
};

struct Recordings {
    SpeechData train, test;
};

/// Edits that turn what the net says into what was said, per phoneme.
double edits_per_phoneme(Evaluation& evaluation, const ConvListener& net, const SpeechData& data) {
    const std::vector<Index> which = index_range(0, static_cast<Index>(data.utterances.size()));
    const SpectrumBatch batch(data, which);
    Tape tape(evaluation);
    const Tensor& scores = net(tape, batch).value();
    Index edits = 0;
    std::size_t phonemes = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
        const CtcTarget& target = batch.targets[i];
        edits += edit_distance(best_path(scores, static_cast<Index>(i), target.steps), target.labels);
        phonemes += target.labels.size();
    }
    return static_cast<double>(edits) / static_cast<double>(phonemes);
}

constexpr std::size_t letter_errors = 0;

TaskBuilder listening_task(const Settings& settings, const Recordings& recordings) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const ConvListener net(model, recordings.train.bins, settings);
        const auto count = static_cast<Index>(recordings.train.utterances.size());
        const auto order = batches(count, std::min(count, settings.integer("batch")), seed);
        const auto loss = [=, &recordings](Tape& tape, std::int64_t step) {
            const SpectrumBatch batch(recordings.train, order(step));
            return ctc(net(tape, batch), batch.targets);
        };
        return {.loss = loss, .measure = [=, &recordings](Evaluation& evaluation, Learned& learned) {
                    learned.scores = {edits_per_phoneme(evaluation, net, recordings.test)};
                }};
    };
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const auto spoken = [&](const char* count, std::string_view stream) {
        return generated_speech({.count = static_cast<Index>(settings.integer(count)),
                                 .phonemes = phoneme_kinds,
                                 .max_length = static_cast<int>(settings.integer("most_phonemes")),
                                 .seed = context.seed,
                                 .noise = 60},
                                stream);
    };
    const Recordings recordings{spoken("utterances", ""), spoken("test_utterances", "test")};
    result.input({"generated utterances for training", recordings.train.digest()});
    result.input({"generated utterances for testing", recordings.test.digest()});
    const Training training{.task = listening_task(settings, recordings),
                            .optimizer = adam_of(settings),
                            .steps = settings.integer("steps"),
                            .schedule = linear_decay_factor};
    const std::vector<Arithmetic> arithmetics = under_control(
        context, {fp32_arithmetic(), dynamic_fp16(context), arithmetic_of(context, "bf16", recipe_by_name("bf16"))});
    const Comparison runs = compare(context, result, arithmetics, training, settings.integer("seeds"));
    const std::string place = cite(sources::volta_talk, "Not just for ImageNet: wav2letter, same accuracy as FP32");
    const Quantity rate{"errors per phoneme", "%", 100, 1};
    result.measured("learns", place, "The net learns to hear phonemes in fp32, by convolutions alone.",
                    at_most(0.25, runs.mean(0, letter_errors), rate));
    claim_parity(result, runs, letter_errors, rate,
                 {0.01, "one phoneme in a hundred, as for the recurrent net of the same task", Margin::Side::not_above},
                 "parity", place, "In 16 bits the error rate is fp32's.");
    result.figure(figure_of_losses(runs, 10, "loss", "Small wav2letter: loss of connectionist temporal classification",
                                   true,
                                   "Convolutions see seven frames on each side and more; there is no state to carry."));
    result.figure(figure_of_seeds(runs, letter_errors, rate, "errors", "Small wav2letter: errors on unseen utterances"))
        .headline = fmt::format("A convolutional net hears phonemes with {} errors in fp32, {} in fp16{}.",
                                rate.text(runs.mean(0, letter_errors)), rate.text(runs.mean(1, letter_errors)),
                                seed_clause(runs, letter_errors, rate));
}

}  // namespace

Experiment experiment() {
    return {"wav2letter",
            "Speech recognition by convolutions alone",
            "Does a small wav2letter transcribe as well in mixed precision?",
            {Chapter::language, 7},
            {integer_setting("steps", "training steps", 450, 1500, 2, 1000000).smoke(2).published(300),
             integer_setting("batch", "utterances per step", 8, 16, 1, 4096).smoke(2),
             integer_setting("channels", "of the convolutions", 24, 48, 1, 1024).smoke(8).published(250),
             integer_setting("layers", "of convolutions over time", 3, 5, 1, 20).published(8),
             integer_setting("first_kernel", "frames that the first convolution sees", 5, 5, 1, 100).published(48),
             integer_setting("kernel", "frames that the others see", 5, 5, 1, 100).published(7),
             integer_setting("last_kernel", "frames that the wide one sees", 1, 1, 1, 100).published(32),
             integer_setting("last_channels", "of the wide convolutions", 48, 96, 1, 4096).smoke(16).published(2000),
             integer_setting("most_phonemes", "of an utterance", 4, 6, 2, 40),
             integer_setting("utterances", "generated, to train on", 1000, 10000, 1, 1000000).smoke(20),
             integer_setting("test_utterances", "generated, to test on", 200, 500, 1, 100000).smoke(10),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(1).published(1),
             integer_setting("scale_window", "clean steps until the loss scale grows", 50, 200, 1, 1000000),
             real_setting("learning_rate", "of Adam, falling linearly to 0", 4e-3, 2e-3, 0, 10).published(2e-4),
             mixed_control()},
            run,
            {Control("control=pure_fp16", "parity_1 parity_2", RunSize::quick),
             Control("control=coarse", "parity_1 parity_2", RunSize::quick),
             Control("learning_rate=0", "learns parity_2", RunSize::quick)}};
}

}  // namespace ulp::wav2letter_experiment
