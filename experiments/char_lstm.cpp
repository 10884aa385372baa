// Recurrent nets that guess the next character of a text: an LSTM and a multiplicative LSTM.
#include <numbers>

#include "engine/layers/recurrent.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/shared/utf8.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/errors.hpp"

namespace ulp::char_lstm_experiment {
namespace {

/// A text as numbers: token i stands for the character alphabet[i].
struct Characters {
    std::vector<std::uint32_t> alphabet;
    std::vector<int> train;
    std::vector<int> test;  // the last tenth
};

Characters load_text(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const auto [text, name] = text_of(context, result);
    const std::vector<std::uint32_t> points = code_points(text, name);
    const std::int64_t needed = 20 * (settings.integer("piece") + 1);
    if (static_cast<std::int64_t>(points.size()) < needed) {
        throw DataError(fmt::format("{} has {} characters; training on sequences of {} takes {} or more", name,
                                    points.size(), settings.integer("piece"), needed));
    }
    Characters characters;
    characters.alphabet = points;
    std::sort(characters.alphabet.begin(), characters.alphabet.end());
    characters.alphabet.erase(std::unique(characters.alphabet.begin(), characters.alphabet.end()),
                              characters.alphabet.end());
    std::vector<int> tokens;
    for (const std::uint32_t point : points) {
        tokens.push_back(
            static_cast<int>(std::lower_bound(characters.alphabet.begin(), characters.alphabet.end(), point) -
                             characters.alphabet.begin()));
    }
    const auto cut = static_cast<std::ptrdiff_t>(tokens.size() - tokens.size() / 10);
    characters.train.assign(tokens.begin(), tokens.begin() + cut);
    characters.test.assign(tokens.begin() + cut, tokens.end());
    return characters;
}

/// Characters to scores of the next one, (time, batch) to (time * batch, alphabet).
using CharacterNet = std::function<Var(Tape&, const std::vector<int>&, Index length, Index batch)>;

template <class Cell>
CharacterNet make_net(Model& model, Index alphabet, Index hidden) {
    struct Net {
        Embedding embedding;
        Cell cell;
        Linear out;
    };
    auto net =
        std::make_shared<const Net>(Net{Embedding(model, "embedding", alphabet, 32), Cell(model, "cell", 32, hidden),
                                        Linear(model, "out", hidden, alphabet)});
    return [net](Tape& tape, const std::vector<int>& ids, Index length, Index batch) {
        const Var scores = net->out(net->cell(net->embedding(tape, ids, {length, batch})));
        return reshape(scores, {length * batch, scores.dim(2)});
    };
}

/// Pieces of a text, time-major: what the net sees, and what it should say.
struct Pieces {
    std::vector<int> ids;
    std::vector<int> next;

    Pieces(const std::vector<int>& tokens, const std::vector<Index>& starts, Index length) {
        for (Index t = 0; t < length; ++t) {
            for (const Index start : starts) {
                ids.push_back(tokens[static_cast<std::size_t>(start + t)]);
                next.push_back(tokens[static_cast<std::size_t>(start + t + 1)]);
            }
        }
    }
};

constexpr std::size_t train_bits = 0;
constexpr std::size_t test_bits = 1;
constexpr std::size_t largest_weight = 2;

double bits(double nats) { return nats / std::numbers::ln2; }

/// Mean bits per character over the test text, in pieces side by side.
double measure(Evaluation& evaluation, const CharacterNet& net, const std::vector<int>& tokens, Index length) {
    std::vector<Index> starts;
    const auto count = static_cast<Index>(tokens.size());
    for (Index start = 0; start + length < count && starts.size() < 64; start += length) starts.push_back(start);
    const Pieces pieces(tokens, starts, length);
    Tape tape(evaluation);
    const Var scores = net(tape, pieces.ids, length, static_cast<Index>(starts.size()));
    return bits(static_cast<double>(cross_entropy(scores, pieces.next).value()[0]));
}

double largest_weight_of(const Model& model) {
    double largest = 0;
    for (const Parameter& parameter : model.parameters()) {
        if (!parameter.name.starts_with("cell")) continue;
        for (const float w : parameter.updated().values()) largest = larger(largest, std::fabs(static_cast<double>(w)));
    }
    return largest;
}

/// The losses become bits.
TaskBuilder text_task(const Settings& settings, const Characters& text, bool multiplicative) {
    return [&, multiplicative](Model& model, std::uint64_t seed) -> Task {
        const auto length = settings.integer("piece");
        const auto hidden = settings.integer("hidden");
        const auto alphabet = static_cast<Index>(text.alphabet.size());
        const CharacterNet net = multiplicative ? make_net<MultiplicativeLstm>(model, alphabet, hidden)
                                                : make_net<Lstm>(model, alphabet, hidden);
        Random random(seed, "pieces of text");
        const auto loss = [=, &text, batch = settings.integer("batch")](Tape& tape, std::int64_t) mutable {
            std::vector<Index> starts;
            for (std::int64_t i = 0; i < batch; ++i) {
                starts.push_back(
                    static_cast<Index>(random.below(text.train.size() - static_cast<std::size_t>(length) - 1)));
            }
            const Pieces pieces(text.train, starts, length);
            return cross_entropy(net(tape, pieces.ids, length, static_cast<Index>(starts.size())), pieces.next);
        };
        return {.loss = loss, .measure = [=, &text, &model](Evaluation& evaluation, Learned& learned) {
                    std::ranges::transform(learned.losses, learned.losses.begin(), bits);
                    learned.scores = {last_tenth(learned.losses), measure(evaluation, net, text.test, length),
                                      largest_weight_of(model)};
                }};
    };
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const Characters text = load_text(context, result);
    const std::vector<Arithmetic> arithmetics = under_control(context, {fp32_arithmetic(), dynamic_fp16(context)});
    const auto compared = [&](bool multiplicative, double from) {
        const Training training{.task = text_task(settings, text, multiplicative),
                                .optimizer = adam_of(settings),
                                .steps = settings.integer("steps"),
                                .clip_norm = 1};
        return compare(context, result, arithmetics, training, settings.integer("seeds"), {from, from + 0.5});
    };
    const Comparison lstm = compared(false, 0);
    const Comparison mlstm = compared(true, 0.5);

    const std::string place = cite(sources::volta_talk, "Sentiment analysis: multiplicative LSTM");
    const Quantity bpc{"bits per character", "", 1, 3};
    const double chance = bits(step::log(static_cast<double>(text.alphabet.size())));
    result.measured("learns", place,
                    "The LSTM learns the text: it needs less than three quarters of the bits of a guess.",
                    below(0.75 * chance, lstm.mean(0, test_bits), bpc));
    const Margin margin{0.01, "a hundredth of the source's 1.1 bits, whose own two nets differ by 0.002",
                        Margin::Side::not_above};
    claim_parity(result, lstm, test_bits, bpc, margin, "lstm", place, "An LSTM needs as many bits in mixed precision.");
    claim_parity(result, mlstm, test_bits, bpc, margin, "mlstm", place,
                 "A multiplicative LSTM needs as many bits in mixed precision.");
    claim_parity(result, mlstm, train_bits, bpc, margin, "mlstm_train", place,
                 "Nor does it need more bits for the text that it learns from.");
    result.measured("weights_below_one", cite(sources::volta_talk, "Weights of LSTM are never >1"),
                    "Weights of LSTM cells are never larger than 1. Here: the largest of the cells trained in mixed "
                    "precision, over the seeds.",
                    never_above(1, lstm.spread(1, largest_weight).largest, {"largest weight", "", 1, 3}));
    const auto curves = [&](const Comparison& comparison, const char* name, const char* title, const char* meaning) {
        result.figure(
            figure_of_curves(losses_of(comparison, bits(1)),
                             {.window = 5, .what = "Bits per character of a batch", .label = "bits per character"},
                             {name, title, meaning, lstm.evidence}));
    };
    curves(lstm, "lstm_loss", "LSTM: bits per character while it learns",
           "The cells' products are in fp16, their sums, state and loss in fp32.");
    curves(mlstm, "mlstm_loss", "Multiplicative LSTM: bits per character while it learns",
           "Products of two learned factors could overflow in fp16; the loss is scaled dynamically.");
    result.figure(
        figure_of_seeds(mlstm, test_bits, bpc, "mlstm_bits", "Multiplicative LSTM: bits per character, unseen text"));
}

}  // namespace

Experiment experiment() {
    return {"char_lstm",
            "Recurrent nets that write, character by character",
            "Do an LSTM and a multiplicative LSTM model a text as well in mixed precision?",
            {Chapter::language, 3},
            {integer_setting("steps", "training steps of each net", 100, 600, 2, 1000000).smoke(12),
             integer_setting("batch", "pieces of text a step", 16, 16, 1, 4096),
             integer_setting("piece", "characters a piece", 24, 48, 2, 1024),
             integer_setting("hidden", "width of the cells", 48, 96, 2, 4096).smoke(16),
             integer_setting("characters", "of the generated text", 40000, 400000, 1000, 100000000).smoke(6000),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(1),
             integer_setting("scale_window", "clean steps until the dynamic scale grows", 25, 500, 1, 1000000),
             real_setting("learning_rate", "of Adam", 1e-2, 2e-3, 0, 10), mixed_control(),
             path_setting("text", "a text file in UTF-8, instead of the generated text")},
            run,
            {Control("control=pure_fp16", "lstm_1 mlstm_1 mlstm_train_1 weights_below_one"),
             Control("control=scale_2^-8", "lstm_1 mlstm_train_1", RunSize::quick, "seeds=3 steps=40 characters=6000"),
             Control("control=scale_2^-12", "lstm_1 mlstm_1 mlstm_train_1", RunSize::quick,
                     "seeds=3 steps=40 characters=6000"),
             Control("learning_rate=0.3", "weights_below_one"),
             Control("learning_rate=0", "learns lstm_1 mlstm_train_1", RunSize::quick)}};
}

}  // namespace ulp::char_lstm_experiment
