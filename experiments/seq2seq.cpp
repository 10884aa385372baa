// Translation by three nets, an LSTM with attention, a Transformer and convolutions, and the loss scale on its way.
#include "engine/data/dataset.hpp"
#include "engine/nets/translators.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::seq2seq_experiment {
namespace {

/// The scores at some places: rows of a matrix, picked as an embedding picks them.
Var loss_of(const Translator& net, Tape& tape, const SentenceBatch& batch) {
    const Var scores = net(tape, batch);
    std::vector<int> rows;
    std::vector<int> words;
    for (const Index place : batch.spoken()) {
        rows.push_back(static_cast<int>(place));
        words.push_back(batch.target[static_cast<std::size_t>(place)]);
    }
    return cross_entropy(embedding(scores, rows, {static_cast<Index>(rows.size())}), words);
}

/// The share of words of the test sentences that come first among the scores, given the right words before them.
double token_accuracy(Evaluation& evaluation, const Translator& net, const TranslationData& data) {
    const SentenceBatch batch(data, index_range(0, static_cast<Index>(data.pairs.size())));
    Tape tape(evaluation);
    const Tensor& scores = net(tape, batch).value();
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

TaskBuilder translation(const Settings& settings, const Corpus& corpus, const std::string& name) {
    return [&, name](Model& model, std::uint64_t seed) -> Task {
        const Translator net =
            make_translator(name, model,
                            {static_cast<Index>(corpus.train.source_words.size()),
                             static_cast<Index>(corpus.train.target_words.size()), settings.integer("hidden")});
        const auto sentences = static_cast<Index>(corpus.train.pairs.size());
        const auto order = batches(sentences, std::min<Index>(sentences, settings.integer("batch")), seed);
        const auto loss = [=, &corpus](Tape& tape, std::int64_t step) {
            return loss_of(net, tape, SentenceBatch(corpus.train, order(step)));
        };
        return {.loss = loss, .measure = [=, &corpus](Evaluation& evaluation, Learned& learned) {
                    learned.scores = {token_accuracy(evaluation, net, corpus.test)};
                    learned.examples = static_cast<std::int64_t>(corpus.test.pairs.size());
                }};
    };
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

/// What the text says of a net of make_translator.
struct Net {
    std::string_view name;
    std::string_view text;
    std::string_view title;
};
constexpr Net nets[] = {{"lstm", "lstm", "LSTM with attention"},
                        {"transformer", "transformer", "Transformer"},
                        {"convolutional", "convolutional net", "Convolutions with attention"}};

void claim_sawtooth(const RunContext& context, const Comparison& comparison, const Net& net, Result& result) {
    const std::string place = cite(sources::volta_talk, "Automatic loss scale factor for a translation net");
    const std::int64_t window = context.settings.integer("scale_window");
    const Learned& run = comparison.runs.back().front();
    result.measured(fmt::format("sawtooth_{}", net.name), place,
                    fmt::format("The automatic scale of the {} is a sawtooth: it doubles after {} clean steps until a "
                                "gradient overflows, halves, and climbs again. Falls after a rise, first seed.",
                                net.text, window),
                    at_least(1, teeth_of(run.scales), {"falls", "falls", 1, 0}));
    // Before the first rise the scale only looks for its place; from there on a skip needs a doubling before it.
    const auto rise = std::adjacent_find(run.scales.begin(), run.scales.end(), std::less<>());
    int skips = 0;
    for (auto at = rise; at != run.scales.end() && at + 1 != run.scales.end(); ++at) skips += at[1] < at[0] ? 1 : 0;
    const auto steps = static_cast<double>(run.scales.end() - rise);
    result.measured(fmt::format("skips_{}", net.name), cite(sources::volta_talk, "Automatic loss scaling parameters"),
                    fmt::format("In the steady state at most one step in N + 1 is skipped, and one of a period that is "
                                "not over (N = {}; {}).",
                                window, net.text),
                    at_most(steps / static_cast<double>(window + 1) + 1, skips, {"skips", "", 1, 1})
                        .at(fmt::format("in {:.0f} steps", steps)));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    TranslationOptions options{.task = translation_task(settings.text("task")),
                               .count = settings.integer("sentences"),
                               .letters = 12,
                               .min_length = 3,
                               .max_length = 6,
                               .seed = context.seed};
    Corpus corpus{generated_translation(options), {}};
    options.count = settings.integer("test_sentences");
    corpus.test = generated_translation(options, "test");
    result.input({"generated sentence pairs for training", corpus.train.digest()});
    result.input({"generated sentence pairs for testing", corpus.test.digest()});
    std::vector<Arithmetic> arithmetics = under_control(context, {fp32_arithmetic(), dynamic_fp16(context)});
    if (has_control(context, "half_window")) arithmetics[1].recipe.loss_scale.window /= 2;
    const std::string place = cite(sources::volta_talk, "Mixed precision: not just for ImageNet; language translation");
    const Quantity right{"words right", "%", 100, 1};
    const Margin margin{0.02, "one word in ten sentences of five", Margin::Side::not_below};
    const double share = 1.0 / static_cast<double>(std::size(nets));
    double from = 0;
    Figure scales{.name = "scales",
                  .title = "Translation: the dynamic loss scale",
                  .caption = "The scale of each step, first seed. A drop is a skipped step.",
                  .meaning = "Largest scales, and skipped steps:",
                  .evidence = ""};
    draw_scales(scales);
    for (const Net& net : nets) {
        const std::string name(net.name);
        const Training training{.task = translation(settings, corpus, name),
                                .optimizer = adam_of(settings),
                                .steps = settings.integer("steps"),
                                .clip_norm = 1};
        const Comparison comparison =
            compare(context, result, arithmetics, training, settings.integer("seeds"), {from, from + share});
        from += share;
        result.measured(name + "_learns", place, fmt::format("The {} learns to translate in fp32.", net.text),
                        at_least(0.7, comparison.mean(0, 0), right));
        claim_parity(result, comparison, 0, right, margin, name, place,
                     "Trained in mixed precision with the same hyperparameters it gets as many words right.");
        claim_sawtooth(context, comparison, net, result);
        scales.series.push_back(figure_of_scales(comparison, "", "").series.front());
        scales.series.back().name = net.title;
        const Learned& mixed = comparison.runs.back().front();
        scales.meaning += fmt::format(" {} {} and {},", net.title,
                                      power_of_two_text(std::ilogb(std::ranges::max(mixed.scales))), mixed.skips());
        scales.evidence = comparison.evidence;
        result.figure(figure_of_losses(comparison, 5, name + "_loss", fmt::format("{}: training loss", net.title)));
    }
    result.figure(std::move(scales));
}

}  // namespace

Experiment experiment() {
    return {
        "seq2seq",
        "Translation: an LSTM with attention, a Transformer and convolutions",
        "Does translation train as well in mixed precision, and what does the dynamic loss scale do?",
        {Chapter::language, 5},
        {integer_setting("steps", "training steps of each net", 110, 1000, 2, 1000000).smoke(8),
         integer_setting("batch", "sentence pairs a step", 24, 32, 1, 4096),
         integer_setting("hidden", "width of the nets", 32, 64, 2, 1024).smoke(8),
         integer_setting("sentences", "generated pairs to train on", 2000, 20000, 1, 10000000).smoke(100),
         integer_setting("test_sentences", "generated pairs to test on", 200, 1000, 1, 100000).smoke(20),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(1),
         // Short enough for 40 doublings in a full run: nine left the gradients of trained nets within fp16's range.
         integer_setting("scale_window", "clean steps until the scale grows", 6, 25, 1, 1000000),
         real_setting("learning_rate", "of Adam", 1e-2, 2e-3, 0, 10),
         text_setting("task", "what to translate", "grammar", translation_task_names()),
         mixed_control("half_window lets the scale grow after half as many steps", {"half_window"})},
        run,
        {Control("control=scale_2^-16",
                 "lstm_1 sawtooth_lstm transformer_1 sawtooth_transformer convolutional_1 sawtooth_convolutional",
                 RunSize::quick, "seeds=2 hidden=16 sentences=500 test_sentences=50 learning_rate=0.02"),
         Control("control=half_window", "skips_lstm skips_transformer skips_convolutional", RunSize::quick,
                 "seeds=2 hidden=16 sentences=500 test_sentences=50 learning_rate=0.02"),
         Control("learning_rate=0", "lstm_learns transformer_learns convolutional_learns", RunSize::quick,
                 "seeds=2 hidden=16 sentences=500 test_sentences=50 learning_rate=0.02")}};
}

}  // namespace ulp::seq2seq_experiment
