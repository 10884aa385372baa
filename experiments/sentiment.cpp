// BERT that tells the sentiment of short messages, in fp32, in bf16 and in fp16 with a dynamic loss scale.
#include "engine/files/sha256.hpp"
#include "engine/nets/blocks.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::sentiment_experiment {
namespace {

// ---- Messages ----

constexpr std::string_view things[] = {"film", "song", "game", "book", "show", "phone", "meal", "trip"};
constexpr std::string_view judgements[] = {"awful", "boring", "sad", "usual", "blue", "long", "great", "lovely", "fun"};
constexpr int of_each_sentiment = 3;  // the judgements: negative, neutral, positive
constexpr int sentiments = 3;
constexpr Index message_length = 12;

/// A message in words and what it feels: 0 negative, 1 neutral, 2 positive.
struct Message {
    std::vector<std::string> words;
    int sentiment;
};

/// "the song is not awful but the film is sad": what follows "but" counts, and "not" turns a judgement round. The same
/// words in another order can feel the opposite, so no count of words tells.
Message message_of(Random random) {
    const auto one_of = [&](const auto& words) { return static_cast<int>(random.below(std::size(words))); };
    Message message{{}, 0};
    for (int clause = 0; clause < 2; ++clause) {
        const int thing = one_of(things);
        const int judgement = one_of(judgements);
        const bool turned = random.below(2) == 0;
        if (clause == 1) message.words.emplace_back("but");
        for (const std::string_view word : {std::string_view("the"), things[thing], std::string_view("is")}) {
            message.words.emplace_back(word);
        }
        if (turned) message.words.emplace_back("not");
        message.words.emplace_back(judgements[judgement]);
        const int plain = judgement / of_each_sentiment;
        message.sentiment = turned ? sentiments - 1 - plain : plain;
    }
    return message;
}

/// The vocabulary: row 0 is padding, row 1 the token whose place says what the whole message feels ([CLS]).
int row_of(const std::string& word) {
    constexpr std::string_view others[] = {"[PAD]", "[CLS]", "the", "is", "not", "but"};
    int row = 0;
    const auto find = [&](const auto& words) {
        const auto at = std::ranges::find(words, word);
        row += static_cast<int>(at - std::begin(words));
        return at != std::end(words);
    };
    if (!find(others) && !find(things)) find(judgements);
    return row;
}
constexpr Index vocabulary = 24;  // a multiple of 8, one row more than there are words

struct Messages {
    std::vector<int> rows;  // count * message_length
    std::vector<int> sentiments;

    Messages(Index count, std::uint64_t seed, std::string_view stream) {
        for (Index i = 0; i < count; ++i) {
            const Message message = message_of(Random(seed, hash_of(stream) + static_cast<std::uint64_t>(i)));
            std::vector<int> words = {1};
            for (const std::string& word : message.words) words.push_back(row_of(word));
            words.resize(message_length, 0);
            rows.insert(rows.end(), words.begin(), words.end());
            sentiments.push_back(message.sentiment);
        }
    }
    [[nodiscard]] Messages chosen(const std::vector<Index>& which) const {
        Messages some(0, 0, "");
        for (const Index i : which) {
            const auto first = rows.begin() + i * message_length;
            some.rows.insert(some.rows.end(), first, first + message_length);
            some.sentiments.push_back(sentiments[static_cast<std::size_t>(i)]);
        }
        return some;
    }
    [[nodiscard]] Index size() const { return static_cast<Index>(sentiments.size()); }
    [[nodiscard]] std::string digest() const {
        std::string text;
        for (const int row : rows) text += static_cast<char>(row);
        for (const int sentiment : sentiments) text += static_cast<char>(sentiment);
        return sha256_of(text);
    }
};

// ---- The net ----

/// BERT for classification (Devlin et al., 2018): the first place's state, a tanh layer, scores of the sentiments.
struct SentimentBert {
    static constexpr Index heads = 2;
    Embedding words, places;
    LayerNorm norm;
    std::vector<TransformerBlock> blocks;
    Linear pooler, out;

    SentimentBert(Model& model, Index width, Index depth)
        : words(model, "words", vocabulary, width),
          places(model, "places", message_length, width),
          norm(model, "norm", width),
          pooler(model, "pooler", width, width),
          out(model, "out", width, sentiments) {
        for (Index i = 0; i < depth; ++i) blocks.emplace_back(model, fmt::format("block{}", i + 1), width, heads);
    }
    Var operator()(Tape& tape, const Messages& batch) const {
        const Shape shape{batch.size(), message_length};
        const Var word = words(tape, batch.rows, shape);
        const Var place = places(tape, place_numbers(batch.size(), message_length), shape);
        Var x = norm(add(word, scaled(place, 0.5)));
        for (const TransformerBlock& block : blocks) x = block(x, false);
        return out(tanh(pooler(first_place_of(x))));
    }
};

constexpr std::size_t told_right = 0;

TaskBuilder sentiment_task(const Settings& settings, const Messages& train, const Messages& test) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const auto net =
            std::make_shared<const SentimentBert>(model, settings.integer("hidden"), settings.integer("blocks"));
        const auto order = batches(train.size(), std::min(train.size(), settings.integer("batch")), seed);
        const auto loss = [=, &train](Tape& tape, std::int64_t step) {
            const Messages batch = train.chosen(order(step));
            return cross_entropy((*net)(tape, batch), batch.sentiments);
        };
        return {.loss = loss, .measure = [=, &test](Evaluation& evaluation, Learned& learned) {
                    Tape tape(evaluation);
                    const Tensor& scores = (*net)(tape, test).value();
                    Index right = 0;
                    for (Index i = 0; i < test.size(); ++i) {
                        const float* row = scores.data() + i * sentiments;
                        right += std::max_element(row, row + sentiments) - row ==
                                         test.sentiments[static_cast<std::size_t>(i)]
                                     ? 1
                                     : 0;
                    }
                    learned.scores = {static_cast<double>(right) / static_cast<double>(test.size())};
                    learned.examples = test.size();
                }};
    };
}

/// The best that counts of a message's words can do: over all pairs of judgements, turned round or not, each multiset
/// of words is given the sentiment that it most often has.
double right_by_counting() {
    constexpr int count = static_cast<int>(std::size(judgements));
    std::map<std::array<int, 3>, std::array<int, sentiments>> seen;
    for (int i = 0; i < count * count * 4; ++i) {
        const int wanted = i / 4 % count;
        const int other = i / 4 / count;
        const int plain = wanted / of_each_sentiment;
        const int felt = i % 2 == 0 ? plain : sentiments - 1 - plain;
        ++seen[{std::min(wanted, other), std::max(wanted, other), i % 2 + i / 2 % 2}][static_cast<std::size_t>(felt)];
    }
    int right = 0;
    for (const auto& [words, counts] : seen) right += std::ranges::max(counts);
    return static_cast<double>(right) / static_cast<double>(count * count * 4);
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const Messages train(settings.integer("messages"), context.seed, "messages");
    const Messages test(settings.integer("test_messages"), context.seed, "messages of the test");
    result.input({"generated messages for training", train.digest()});
    result.input({"generated messages for testing", test.digest()});
    const std::vector<Arithmetic> arithmetics = under_control(
        context, {fp32_arithmetic(), arithmetic_of(context, "bf16", recipe_by_name("bf16")), dynamic_fp16(context)});
    const Training training{.task = sentiment_task(settings, train, test),
                            .optimizer = adam_of(settings),
                            .steps = settings.integer("steps"),
                            .schedule = linear_decay_factor,
                            .clip_norm = 1};
    const Comparison runs = compare(context, result, arithmetics, training, settings.integer("seeds"));
    const std::string place = cite(sources::paperspace, "Real world performance benchmarks: BERT, tweet sentiment");
    const Quantity right{"sentiments classified correctly", "%", 100, 1};
    result.measured("learns", place,
                    fmt::format("The net tells at least nine tenths of the sentiments in fp32. The best that counts of "
                                "words can do is {:.1f} %.",
                                100 * right_by_counting()),
                    at_least(0.9, runs.mean(0, told_right), right));
    claim_parity(result, runs, told_right, right,
                 {0.02, "a fifth of the errors that learns allows", Margin::Side::not_below}, "parity", place,
                 "A small BERT tells sentiments as well in 16 bits as in fp32.");
    result.figure(figure_of_losses(runs, 10, "loss", "Sentiment: training loss", false));
    result.figure(figure_of_seeds(runs, told_right, right, "right", "Sentiment: unseen messages classified correctly"));
}

}  // namespace

Experiment experiment() {
    return {"sentiment",
            "Small BERT: the sentiment of messages",
            "Does a BERT that tells sentiments train as well in mixed precision?",
            {Chapter::language, 2},
            {integer_setting("steps", "training steps", 350, 1500, 2, 1000000).smoke(2),
             integer_setting("batch", "messages per step", 16, 32, 1, 4096),
             integer_setting("hidden", "width of the net", 24, 32, 4, 1024).smoke(8),
             integer_setting("blocks", "of attention and feed-forward layers", 1, 2, 1, 24).smoke(1),
             integer_setting("messages", "generated, to train on", 4000, 40000, 1, 10000000).smoke(100),
             integer_setting("test_messages", "generated, to test on", 350, 2000, 1, 100000).smoke(20),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(1),
             integer_setting("scale_window", "clean steps until the loss scale grows", 50, 200, 1, 1000000),
             real_setting("learning_rate", "of Adam, falling linearly to 0", 5e-3, 3e-3, 0, 10), mixed_control()},
            run,
            {Control("control=pure_fp16", "parity_1 parity_2", RunSize::quick),
             Control("control=coarse", "parity_1 parity_2", RunSize::quick),
             Control("learning_rate=0", "learns", RunSize::quick)}};
}

}  // namespace ulp::sentiment_experiment
