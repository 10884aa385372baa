// Speech from phonemes: a toy Tacotron whose decoder attends to the phonemes while it makes spectra.
#include <numeric>

#include "engine/data/generated.hpp"
#include "engine/nets/blocks.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::tacotron_experiment {
namespace {

constexpr int phonemes = 8;
constexpr Index spoken = 6;          // phonemes of an utterance
constexpr Index frames_at_once = 4;  // in a step of the decoder, as Tacotron's reduction factor
constexpr Index most_steps = 8 * spoken / frames_at_once;

/// Utterances side by side: their phonemes, and their spectra in groups of frames.
struct SpeechBatch {
    Index count;
    Index steps = 0;             // of the longest
    std::vector<Index> lengths;  // steps of each
    std::vector<int> ids;        // count x spoken
    Matrix before;               // (steps * count) x group: what was made in the step before; first nothing
    std::vector<int> rows;       // of count * steps those that hold speech
    Tensor target;               // rows x group

    SpeechBatch(const SpeechData& data, const std::vector<Index>& which) : count(static_cast<Index>(which.size())) {
        const Index group = frames_at_once * data.bins;
        for (const Index i : which) {
            const Utterance& u = data.utterances[static_cast<std::size_t>(i)];
            ids.insert(ids.end(), u.phonemes.begin(), u.phonemes.end());
            lengths.push_back((static_cast<Index>(u.spectrum.size()) + group - 1) / group);
            steps = std::max(steps, lengths.back());
        }
        before = Matrix::Zero(steps * count, group);
        std::vector<float> speech;
        for (Index n = 0; n < count; ++n) {
            const Index which_one = which[static_cast<std::size_t>(n)];
            std::vector<std::uint8_t> spectrum = data.utterances[static_cast<std::size_t>(which_one)].spectrum;
            const Index length = lengths[static_cast<std::size_t>(n)];
            spectrum.resize(static_cast<std::size_t>(length * group), 64);
            for (Index s = 0; s < length; ++s) {
                rows.push_back(static_cast<int>(n * steps + s));
                for (Index i = 0; i < group; ++i) {
                    speech.push_back((static_cast<float>(spectrum[static_cast<std::size_t>(s * group + i)]) - 64) / 64);
                    if (s + 1 < length) before((s + 1) * count + n, i) = speech.back();
                }
            }
        }
        target = Tensor({static_cast<Index>(rows.size()), group}, speech);
    }
};

std::vector<int> counted(Index count) {
    std::vector<int> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

/// The decoder is told the group before; what comes next it has to look up among the phonemes.
struct Speaker {
    Embedding phoneme, place, time;
    Gru decoder;
    CrossAttention attention;
    Linear mix, out;

    Speaker(Model& model, Index bins, Index hidden)
        : phoneme(model, "phoneme", phonemes + 1, hidden),
          place(model, "place", spoken, hidden),
          time(model, "time", most_steps, hidden),
          decoder(model, "decoder", frames_at_once * bins, hidden),
          attention(model, "attention", hidden),
          mix(model, "mix", 2 * hidden, hidden),
          out(model, "out", hidden, frames_at_once * bins) {}

    /// The groups of frames that hold speech.
    Var operator()(Tape& tape, const SpeechBatch& batch) const {
        const Var letters = phoneme(tape, batch.ids, {batch.count, spoken});
        const Var memory = add(letters, place(tape, counted(spoken), {spoken}));
        const Var before = images_on(tape, batch.before);
        const Var heard = decoder(reshape(before, {batch.steps, batch.count, batch.before.cols()}));
        const Var states = permute(heard, {1, 0, 2});
        const Var asking = add(states, time(tape, counted(batch.steps), {batch.steps}));
        const Var no_padding = tape.constant(Tensor({batch.count, batch.steps, spoken}, tape.engine().recipe.inputs));
        const Var context = attention(asking, memory, no_padding);
        const Var both = tanh(mix(concat(std::vector<Var>{states, context}, 2)));
        const Var frames = reshape(out(both), {batch.count * batch.steps, batch.before.cols()});
        return embedding(frames, batch.rows, {static_cast<Index>(batch.rows.size())});
    }
};

/// Attention (count, steps, spoken), as the net's softmax gave it.
using Attention = std::vector<double>;

/// The share of the attention that lies within a phoneme of the diagonal, which even speed would follow.
double on_diagonal(const SpeechBatch& batch, const Attention& attention) {
    double sum = 0;
    for (const int row : batch.rows) {
        const double length = static_cast<double>(batch.lengths[static_cast<std::size_t>(row / batch.steps)]);
        const double place = (static_cast<double>(row % batch.steps) + 0.5) / length * spoken;
        for (Index j = 0; j < spoken; ++j) {
            const bool near = std::fabs(static_cast<double>(j) + 0.5 - place) <= 1;
            if (near) sum += attention[static_cast<std::size_t>(row * spoken + j)];
        }
    }
    return sum / static_cast<double>(batch.rows.size());
}

constexpr std::size_t unseen_loss = 0;
constexpr std::size_t diagonal = 1;

/// Scores: the loss on unseen utterances, the attention's share on the diagonal there. Keeps that attention.
TaskBuilder speaking(const Settings& settings, const SpeechData& data, const SpeechBatch& unseen) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const Speaker net(model, data.bins, settings.integer("hidden"));
        const auto utterances = static_cast<Index>(data.utterances.size());
        const auto order = batches(utterances, std::min<Index>(utterances, settings.integer("batch")), seed);
        const auto loss = [=, &data](Tape& tape, std::int64_t step) {
            const SpeechBatch batch(data, order(step));
            return mse(net(tape, batch), batch.target);
        };
        return {.loss = loss, .measure = [=, &unseen](Evaluation& evaluation, Learned& learned) {
                    Attention attention;
                    Evaluation watched = evaluation;
                    watched.run.observers.tap = [&](const TapEvent& event) {
                        if (event.name == "softmax") attention.assign(event.values.begin(), event.values.end());
                    };
                    Tape tape(watched);
                    const double loss_there = static_cast<double>(mse(net(tape, unseen), unseen.target).value()[0]);
                    learned.scores = {loss_there, on_diagonal(unseen, attention)};
                    learned.more = attention;
                }};
    };
}

/// Of the first unseen utterance: x counts the steps' phonemes, step by step.
Figure figure_of_attention(const SpeechBatch& unseen, const std::vector<std::pair<std::string, Attention>>& nets,
                           std::string evidence) {
    Figure figure{"attention", "What the decoder attends to while it speaks",
                  "The first unseen utterance, first seed. Each step of the decoder makes four frames.",
                  "Nobody tells the net which frames belong to which phoneme. Attention within one phoneme of the "
                  "diagonal, over all unseen utterances:",
                  std::move(evidence)};
    for (const auto& [name, attention] : nets) {
        Series series{name};
        for (Index i = 0; i < unseen.lengths.front() * spoken; ++i) {
            const double value = attention[static_cast<std::size_t>(i)];
            if (std::isfinite(value)) series.points.push_back({static_cast<double>(i), value});
        }
        figure.meaning += fmt::format(" {} {:.1f} %,", name, 100 * on_diagonal(unseen, attention));
        figure.series.push_back(std::move(series));
    }
    const Attention even(nets.front().second.size(), 1.0 / spoken);
    figure.meaning += fmt::format(" spread evenly {:.1f} %.", 100 * on_diagonal(unseen, even));
    figure.plot = "attention";
    figure.variables = {{"phonemes", static_cast<double>(spoken)},
                        {"steps", static_cast<double>(unseen.lengths.front())}};
    return figure;
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    SpeechOptions options{.count = settings.integer("utterances"),
                          .phonemes = phonemes,
                          .min_length = spoken,
                          .max_length = spoken,
                          .seed = context.seed};
    const SpeechData data = generated_speech(options);
    options.count = settings.integer("test_utterances");
    const SpeechData test = generated_speech(options, "test");
    result.input({"generated utterances for training", data.digest()});
    result.input({"generated utterances for testing", test.digest()});
    const std::vector<int> all = counted(options.count);
    const SpeechBatch unseen(test, {all.begin(), all.end()});
    const std::vector<Arithmetic> arithmetics = under_control(
        context, {fp32_arithmetic(), mixed_arithmetic(context, "mixed fp16",
                                                      dynamic_loss_scale(settings.integer("scale_window"), 0x1p10))});
    const Training training{
        .task = speaking(settings, data, unseen), .optimizer = adam_of(settings), .steps = settings.integer("steps")};
    const Comparison runs = compare(context, result, arithmetics, training, settings.integer("seeds"));
    const Attention& in_fp32 = runs.runs[0].front().kept<Attention>();
    const Attention& in_fp16 = runs.runs[1].front().kept<Attention>();

    const std::string place = cite(sources::volta_talk, "Text to speech synthesis: results");
    const double even = on_diagonal(unseen, Attention(in_fp32.size(), 1.0 / spoken));
    const Quantity share{"attention on the diagonal", "%", 100, 1};
    for (std::size_t a = 0; a < 2; ++a) {
        result.measured(fmt::format("diagonal_{}", a == 0 ? "fp32" : "mixed"), place,
                        fmt::format("{}: the attention becomes diagonal, phoneme after phoneme: within one phoneme of "
                                    "the diagonal lies more than twice the share of even attention.",
                                    runs.arithmetics[a].name),
                        above(2 * even, runs.mean(a, diagonal), share));
    }
    claim_parity(result, runs, diagonal, share, {0.01, "a hundredth of the attention", Margin::Side::not_below},
                 "attention", place, "The attention is as diagonal in mixed precision.", 1);
    claim_parity(result, runs, unseen_loss, {"loss", "", 1, 4},
                 {0.0025, "a hundredth of the loss of a net that has learned", Margin::Side::not_above}, "unseen",
                 place, "Unseen utterances are spoken as well in mixed precision.", 1);
    result.figure(figure_of_attention(unseen, {{"fp32", in_fp32}, {"mixed fp16", in_fp16}}, runs.evidence));
    result.figure(figure_of_losses(runs, 5, "loss", "Toy Tacotron: training loss", false));
    result.figure(figure_of_seeds(runs, diagonal, share, "diagonal", "Attention within a phoneme of the diagonal"));
}

}  // namespace

Experiment experiment() {
    return {"tacotron",
            "Speech from phonemes: attention that becomes diagonal",
            "Does the attention of a toy Tacotron become diagonal in mixed precision too?",
            {Chapter::language, 9},
            {integer_setting("steps", "training steps", 150, 1500, 2, 1000000).smoke(50),
             integer_setting("batch", "utterances a step", 8, 16, 1, 4096),
             integer_setting("hidden", "width of the net", 32, 64, 2, 1024),
             integer_setting("utterances", "generated, to train on", 500, 5000, 1, 1000000).smoke(100),
             integer_setting("test_utterances", "generated, to test on", 40, 200, 1, 10000).smoke(10),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(1),
             integer_setting("scale_window", "clean steps until the loss scale grows", 20, 200, 1, 1000000),
             real_setting("learning_rate", "of Adam", 1e-2, 3e-3, 0, 10), mixed_control()},
            run,
            {Control("control=pure_fp16", "diagonal_mixed attention unseen"),
             Control("learning_rate=0", "diagonal_fp32 diagonal_mixed"),
             Control("control=scale_2^-8", "attention unseen", RunSize::quick, "seeds=2"),
             Control("control=scale_2^-16", "diagonal_mixed attention unseen", RunSize::quick, "seeds=2")}};
}

}  // namespace ulp::tacotron_experiment
