// Translation by two nets, an LSTM with attention and a Transformer, and the loss scale on its way.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/translation.hpp"
#include "experiments/image_training.hpp"
#include "experiments/sources.hpp"

namespace ulp {
namespace {

using sources::cite;

/// Sentence pairs as rectangles, batch-major, filled up with padding.
struct SentenceBatch {
    Index count = 0;
    Index source_length = 0;
    Index target_length = 0;
    std::vector<int> source;
    std::vector<int> before;  // the target behind its start token: what the decoder has seen
    std::vector<int> target;  // the target and its end token: what it should say

    SentenceBatch(const TranslationData& data, const std::vector<Index>& which)
        : count(static_cast<Index>(which.size())) {
        for (const Index i : which) {
            const TranslationPair& pair = data.pairs[static_cast<std::size_t>(i)];
            source_length = std::max(source_length, static_cast<Index>(pair.source.size()));
            target_length = std::max(target_length, static_cast<Index>(pair.target.size()) + 1);
        }
        const auto fill = [](std::vector<int>& rows, std::size_t row_end) { rows.resize(row_end, padding_token); };
        for (std::size_t row = 0; row < which.size(); ++row) {
            const TranslationPair& pair = data.pairs[static_cast<std::size_t>(which[row])];
            source.insert(source.end(), pair.source.begin(), pair.source.end());
            fill(source, (row + 1) * static_cast<std::size_t>(source_length));
            before.push_back(start_token);
            before.insert(before.end(), pair.target.begin(), pair.target.end());
            fill(before, (row + 1) * static_cast<std::size_t>(target_length));
            target.insert(target.end(), pair.target.begin(), pair.target.end());
            target.push_back(end_token);
            fill(target, (row + 1) * static_cast<std::size_t>(target_length));
        }
    }

    /// (count, target, source): -10000 where the source is padding, so that nothing attends there.
    [[nodiscard]] Tensor<float> penalty() const {
        Tensor<float> result({count, target_length, source_length});
        for (Index i = 0; i < result.size(); ++i) {
            const Index sentence = i / (target_length * source_length);
            const auto place = static_cast<std::size_t>(sentence * source_length + i % source_length);
            result[i] = source[place] == padding_token ? -10000.0F : 0.0F;
        }
        return result;
    }
    /// The places of the target that are no padding.
    [[nodiscard]] std::vector<Index> spoken() const {
        std::vector<Index> places;
        for (std::size_t i = 0; i < target.size(); ++i) {
            if (target[i] != padding_token) places.push_back(static_cast<Index>(i));
        }
        return places;
    }
};

struct Sizes {
    Index source_words;
    Index target_words;
    Index width;
};

/// Scores of the next words: (count * target_length, target words).
using Translator = std::function<Var<float>(Tape<float>&, const SentenceBatch&)>;

Var<float> on_its_grid(Tape<float>& tape, Tensor<float> tensor) {
    tensor.round_to_format(tape.engine().recipe.inputs);
    return tape.constant(std::move(tensor));
}

/// As an LSTM layer, from a state that is given; the last state besides.
struct Sequence {
    Var<float> outputs;
    LstmState<float> last;
};
Sequence run_lstm(const Lstm<float>& lstm, Var<float> x, const std::optional<LstmState<float>>& start) {
    const Tape<float>::Scope scope(*x.tape, lstm.p.name);
    const Var<float> inputs = lstm.p.from_input(x);
    LstmState<float> state = start ? *start : LstmState<float>{lstm.p.start(x), lstm.p.start(x)};
    std::vector<Var<float>> outputs;
    for (Index t = 0; t < x.dim(0); ++t) {
        const Var<float> own = step_of(inputs, t);
        state = lstm_update(add(own, lstm.p.from_state(state.h)), state.c, lstm.p.width);
        outputs.push_back(state.h);
    }
    return {sequence_of(outputs), state};
}

/// An encoder and a decoder of one LSTM each; every word of the decoder attends to the encoder's words.
struct RecurrentTranslator {
    Embedding<float> source, target;
    Lstm<float> encoder, decoder;
    CrossAttention attention;
    Linear<float> mix, out;

    RecurrentTranslator(Model<float>& model, const Sizes& sizes)
        : source(model, "source", sizes.source_words, sizes.width),
          target(model, "target", sizes.target_words, sizes.width),
          encoder(model, "encoder", sizes.width, sizes.width),
          decoder(model, "decoder", sizes.width, sizes.width),
          attention(model, "attention", sizes.width),
          mix(model, "mix", 2 * sizes.width, sizes.width),
          out(model, "out", sizes.width, sizes.target_words) {}

    Var<float> operator()(Tape<float>& tape, const SentenceBatch& batch) const {
        const Var<float> words = source(tape, batch.source, {batch.count, batch.source_length});
        const Sequence read = run_lstm(encoder, permute(words, {1, 0, 2}), std::nullopt);
        const Var<float> seen = target(tape, batch.before, {batch.count, batch.target_length});
        const Sequence said = run_lstm(decoder, permute(seen, {1, 0, 2}), read.last);
        const Var<float> memory = permute(read.outputs, {1, 0, 2});
        const Var<float> state = permute(said.outputs, {1, 0, 2});
        const Var<float> context = attention(state, memory, on_its_grid(tape, batch.penalty()));
        const Var<float> both = tanh(mix(concat(std::vector<Var<float>>{state, context}, 2)));
        return reshape(out(both), {batch.count * batch.target_length, out.weight->value.dim(0)});
    }
};

/// One encoder block and one decoder block with attention over the encoder; places are learned.
struct TransformerTranslator {
    Embedding<float> source, target, source_place, target_place;
    TransformerBlock encoder, decoder;
    CrossAttention attention;
    LayerNorm<float> norm;
    Linear<float> out;

    TransformerTranslator(Model<float>& model, const Sizes& sizes)
        : source(model, "source", sizes.source_words, sizes.width),
          target(model, "target", sizes.target_words, sizes.width),
          source_place(model, "source_place", 66, sizes.width),
          target_place(model, "target_place", 66, sizes.width),
          encoder(model, "encoder", sizes.width, 2),
          decoder(model, "decoder", sizes.width, 2),
          attention(model, "attention", sizes.width),
          norm(model, "norm", sizes.width),
          out(model, "out", sizes.width, sizes.target_words) {}

    static Var<float> placed(Tape<float>& tape, const Embedding<float>& words, const Embedding<float>& places,
                             const std::vector<int>& ids, Index count, Index length) {
        std::vector<int> at;
        for (Index i = 0; i < count * length; ++i) at.push_back(static_cast<int>(i % length));
        const Var<float> word = words(tape, ids, {count, length});
        return add(word, places(tape, at, {count, length}));
    }
    Var<float> operator()(Tape<float>& tape, const SentenceBatch& batch) const {
        const Var<float> memory =
            encoder(placed(tape, source, source_place, batch.source, batch.count, batch.source_length), false);
        Var<float> x =
            decoder(placed(tape, target, target_place, batch.before, batch.count, batch.target_length), true);
        x = norm(add(x, attention(x, memory, on_its_grid(tape, batch.penalty()))));
        return reshape(out(x), {batch.count * batch.target_length, out.weight->value.dim(0)});
    }
};

Translator make_translator(bool transformer, Model<float>& model, const Sizes& sizes) {
    if (transformer) {
        auto net = std::make_shared<const TransformerTranslator>(model, sizes);
        return [net](Tape<float>& tape, const SentenceBatch& batch) { return (*net)(tape, batch); };
    }
    auto net = std::make_shared<const RecurrentTranslator>(model, sizes);
    return [net](Tape<float>& tape, const SentenceBatch& batch) { return (*net)(tape, batch); };
}

/// The scores at some places: rows of a matrix, picked as an embedding picks them.
Var<float> loss_of(const Translator& net, Tape<float>& tape, const SentenceBatch& batch) {
    const Var<float> scores = net(tape, batch);
    std::vector<int> rows;
    std::vector<int> words;
    for (const Index place : batch.spoken()) {
        rows.push_back(static_cast<int>(place));
        words.push_back(batch.target[static_cast<std::size_t>(place)]);
    }
    return cross_entropy(embedding(scores, rows, {static_cast<Index>(rows.size())}), words);
}

/// The share of words of the test sentences that come first among the scores, given the right words before them.
double token_accuracy(const Engine& engine, const Translator& net, const TranslationData& data) {
    std::vector<Index> all(data.pairs.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Index>(i);
    const SentenceBatch batch(data, all);
    Tape<float> tape(engine);
    const Tensor<float>& scores = net(tape, batch).value();
    const Index words = scores.dim(1);
    Index right = 0;
    const std::vector<Index> spoken = batch.spoken();
    for (const Index place : spoken) {
        const float* row = scores.data() + place * words;
        right += std::max_element(row, row + words) - row == batch.target[static_cast<std::size_t>(place)] ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(spoken.size());
}

struct Corpus {
    TranslationData train;
    TranslationData test;
};

Learned train(const RunContext& context, const Arithmetic& arithmetic, std::uint64_t seed, const Corpus& corpus,
              bool transformer) {
    const Settings& settings = context.settings;
    Trainer<float> trainer(Engine(arithmetic.recipe, make_backend(arithmetic.backend)), seed);
    trainer.keep_trace = false;
    const Translator net = make_translator(
        transformer, trainer.model(),
        {static_cast<Index>(corpus.train.source_words.size()), static_cast<Index>(corpus.train.target_words.size()),
         static_cast<Index>(settings.integer("hidden"))});
    trainer.optimize({.kind = OptimizerKind::adam, .learning_rate = settings.real("learning_rate")});
    trainer.before_update = [](Optimizer<float>& optimizer) { optimizer.clip_by_norm(1); };
    const auto sentences = static_cast<Index>(corpus.train.pairs.size());
    BatchSchedule batches(sentences, std::min(sentences, static_cast<Index>(settings.integer("batch"))), seed);
    Learned learned;
    for (std::int64_t step = 0; step < settings.integer("steps"); ++step) {
        const SentenceBatch batch(corpus.train, batches.next());
        note(trainer.step([&](Tape<float>& tape) { return loss_of(net, tape, batch); }), learned);
    }
    learned.scores = {token_accuracy(trainer.engine(), net, corpus.test), static_cast<double>(learned.skipped)};
    return learned;
}

/// Counts the teeth: places where the scale fell after it had risen.
int teeth_of(const std::vector<double>& scales) {
    int teeth = 0;
    bool rising = false;
    for (std::size_t i = 1; i < scales.size(); ++i) {
        if (scales[i] > scales[i - 1]) rising = true;
        if (scales[i] < scales[i - 1]) {
            teeth += rising ? 1 : 0;
            rising = false;
        }
    }
    return teeth;
}

void claim_sawtooth(const RunContext& context, const Comparison& nets, const std::string& net, Result& result) {
    const std::string place = cite(sources::volta_talk, "Automatic loss scale factor for a translation net");
    const std::int64_t window = context.settings.integer("scale_window");
    const Learned& run = nets.runs.back().front();
    const int teeth = teeth_of(run.scales);
    result.claim_if(teeth >= 1, fmt::format("sawtooth_{}", net), place,
                    fmt::format("The automatic scale of the {} is a sawtooth: it doubles after {} clean steps until a "
                                "gradient overflows, halves, and climbs again.",
                                net, window),
                    "a fall after a rise, once or more", fmt::format("{} times", teeth));
    // Before the first rise the scale only looks for its place; from there on a skip needs a doubling before it.
    const auto rise = std::adjacent_find(run.scales.begin(), run.scales.end(), std::less<>());
    int skips = 0;
    for (auto at = rise; at != run.scales.end() && at + 1 != run.scales.end(); ++at) skips += at[1] < at[0] ? 1 : 0;
    const auto steps = static_cast<double>(run.scales.end() - rise);
    const double most = steps / static_cast<double>(window + 1) + 1;
    result.claim_if(skips <= most, fmt::format("skips_{}", net),
                    cite(sources::volta_talk, "Automatic loss scaling parameters"),
                    fmt::format("In the steady state at most one step in N + 1 is skipped (N = {}; {}).", window, net),
                    fmt::format("at most {:.1f} of {:.0f} steps", most, steps), fmt::format("{}", skips));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    TranslationOptions options{.task = translation_task(settings.text("task")),
                               .count = static_cast<Index>(settings.integer("sentences")),
                               .letters = 12,
                               .min_length = 3,
                               .max_length = 6,
                               .seed = context.seed};
    Corpus corpus{generated_translation(options), {}};
    options.count = static_cast<Index>(settings.integer("test_sentences"));
    corpus.test = generated_translation(options, "test");
    result.input({"generated sentence pairs for training", corpus.train.digest()});
    result.input({"generated sentence pairs for testing", corpus.test.digest()});
    const std::vector<Arithmetic> arithmetics = under_control(
        context, {fp32_arithmetic(),
                  mixed_arithmetic(context, "fp16 dynamic", dynamic_loss_scale(settings.integer("scale_window")))});
    const auto compared = [&](bool transformer, double from) {
        return compare(
            context, arithmetics, settings.integer("seeds"),
            [&](const Arithmetic& a, std::uint64_t seed) { return train(context, a, seed, corpus, transformer); }, from,
            from + 0.5);
    };
    const Comparison lstm = compared(false, 0);
    const Comparison transformer = compared(true, 0.5);

    const std::string evidence = evidence_of(lstm, result);
    const std::string place = cite(sources::volta_talk, "Mixed precision: not just for ImageNet; language translation");
    const ScoreText right{"words right", "%", 100, 1};
    const std::pair<const char*, const Comparison*> nets[] = {{"lstm", &lstm}, {"transformer", &transformer}};
    for (const auto& [name, comparison] : nets) {
        result.claim_if(comparison->mean(0, 0) >= 0.7, fmt::format("{}_learns", name), place,
                        fmt::format("The {} learns to translate in fp32.", name), "70 % of the words or more",
                        right.text(comparison->mean(0, 0)));
        claim_parity(result, *comparison, 0, right, 0.01, name, place,
                     "Trained in mixed precision with the same hyperparameters it gets as many words right.");
        claim_sawtooth(context, *comparison, name, result);
    }
    result.figure(
        figure_of_scales(lstm, "lstm_scale", "LSTM with attention: the automatic loss scale",
                         "A sawtooth, as on the source's slide: the scale doubles until a gradient overflows, "
                         "one step is skipped, and the climb begins again. Its height shows how large the "
                         "gradients are.",
                         evidence));
    result.figure(figure_of_scales(transformer, "transformer_scale", "Transformer: the automatic loss scale",
                                   "The same rule finds another height for another net: no one has to choose it.",
                                   evidence));
    result.figure(figure_of_losses(lstm, 5, "lstm_loss", "LSTM with attention: training loss",
                                   "Mixed precision follows fp32 within the band of the seeds.", evidence));
    result.figure(figure_of_losses(transformer, 5, "transformer_loss", "Transformer: training loss",
                                   "Mixed precision follows fp32 within the band of the seeds.", evidence));
}

}  // namespace

Experiment seq2seq_experiment() {
    return {"seq2seq",
            "Translation: an LSTM with attention and a Transformer",
            "Does translation train as well in mixed precision, and what does the automatic loss scale do?",
            Chapter::systems,
            {integer_setting("steps", "training steps of each net", 150, 2000, 2, 1000000),
             integer_setting("batch", "sentence pairs a step", 24, 64, 1, 4096),
             integer_setting("hidden", "width of the nets", 32, 64, 2, 1024),
             integer_setting("sentences", "generated pairs to train on", 2000, 20000, 1, 10000000),
             integer_setting("test_sentences", "generated pairs to test on", 200, 1000, 1, 100000),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100),
             integer_setting("scale_window", "clean steps until the scale grows", 6, 100, 1, 1000000),
             real_setting("learning_rate", "of Adam", 1e-2, 2e-3, 0, 10),
             text_setting("task", "what to translate", "grammar", translation_task_names()), pure_fp16_control()},
            run};
}

}  // namespace ulp
