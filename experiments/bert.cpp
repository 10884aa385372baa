// BERT's two tasks, small: guess masked words, and tell whether a sentence follows another.
#include <fmt/ranges.h>

#include <sstream>

#include "engine/data/generated.hpp"
#include "engine/nets/blocks.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::bert_experiment {
namespace {

// ---- Words and their numbers ----

constexpr int padding = 0;
constexpr int unknown = 100;
constexpr int start_of_text = 101;  // [CLS]
constexpr int separator = 102;      // [SEP]
constexpr int mask = 103;           // [MASK]

/// BERT's vocabulary as far as it is used here: the special tokens and the source's words with their numbers in
/// bert-base-uncased; the words of the generated text take the numbers from 104 on, which that vocabulary leaves
/// unused.
class WordPieces {
  public:
    WordPieces()
        : ids_{{"[PAD]", padding},   {"[UNK]", unknown}, {"[CLS]", start_of_text},
               {"[SEP]", separator}, {"[MASK]", mask},   {"ai", 9932},
               {"round", 2461},      {"##table", 10880}, {"is", 2003},
               {"fantastic", 10392}, {".", 1012}} {
        int next = 104;
        for (const std::string& word : topic_vocabulary()) {
            if (ids_.emplace(word, next).second) ++next;
        }
        for (const auto& [word, id] : ids_) rows_.emplace(id, 0);
        int row = 0;
        for (auto& [id, place] : rows_) place = row++;
    }

    /// Lower case, punctuation apart, the longest known pieces first (Wu et al., 2016).
    [[nodiscard]] std::vector<int> encode(const std::string& text) const {
        std::vector<int> ids;
        std::string apart;
        for (const char c : text) {
            const bool mark = c == '.' || c == ',' || c == '?' || c == '!';
            apart += mark ? std::string(" ") + c + " "
                          : std::string(1, c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
        }
        std::istringstream words(apart);
        for (std::string word; words >> word;) add_pieces(word, ids);
        return ids;
    }
    /// The number's row in a compact table.
    [[nodiscard]] int row(int id) const { return rows_.at(id); }
    /// Rows of the table: a multiple of 8, as matrix units like them.
    [[nodiscard]] Index rows() const { return (static_cast<Index>(rows_.size()) + 7) / 8 * 8; }

  private:
    void add_pieces(const std::string& word, std::vector<int>& ids) const {
        const std::size_t before = ids.size();
        for (std::size_t at = 0; at < word.size();) {
            std::size_t length = word.size() - at;
            const auto piece = [&] { return (at > 0 ? "##" : "") + word.substr(at, length); };
            while (length > 0 && !ids_.contains(piece())) --length;
            if (length == 0) {  // no way to spell it: the whole word is unknown
                ids.resize(before);
                ids.push_back(unknown);
                return;
            }
            ids.push_back(ids_.at(piece()));
            at += length;
        }
    }

    std::map<std::string, int> ids_;
    std::map<int, int> rows_;  // number -> row
};

/// [CLS] first [SEP] second [SEP], or without the second, as BERT is given it.
struct Encoded {
    std::vector<int> ids;
    std::vector<int> attention;  // 1: text, 0: padding
    std::vector<int> types;      // 0: the first sentence, 1: the second
    int label;                   // of a pair: 0 where the second follows

    Encoded(const WordPieces& pieces, const std::string& first, const std::string& second, std::size_t length,
            int pair_label = 0)
        : label(pair_label) {
        ids = {start_of_text};
        const std::vector<int> a = pieces.encode(first);
        ids.insert(ids.end(), a.begin(), a.end());
        ids.push_back(separator);
        types.assign(ids.size(), 0);
        if (!second.empty()) {
            const std::vector<int> b = pieces.encode(second);
            ids.insert(ids.end(), b.begin(), b.end());
            ids.push_back(separator);
            types.resize(ids.size(), 1);
        }
        attention.assign(ids.size(), 1);
        pad(length);
    }
    /// As long as `length`, or as it is where it is longer.
    void pad(std::size_t length) {
        ids.resize(std::max(length, ids.size()), padding);
        attention.resize(ids.size(), 0);
        types.resize(ids.size(), 0);
    }
};

bool is_special(int id) { return id == padding || id == start_of_text || id == separator; }

/// Puts the mask instead of 15% of the words, never of a special token unless the control asks for it; the places.
std::vector<std::size_t> mask_words(std::vector<int>& ids, Random& random, bool special_too = false) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if ((is_special(ids[i]) && !special_too) || random.below(100) >= 15) continue;
        ids[i] = mask;
        places.push_back(i);
    }
    return places;
}

// ---- The pairs ----

constexpr std::string_view nouns[] = {"storm", "cloud", "valley", "river", "meter", "laser", "sample", "report"};
constexpr std::string_view transitive_verbs[] = {"covers",   "follows", "fills",  "cools",
                                                 "measures", "records", "checks", "confirms"};
constexpr std::string_view verbs[] = {"rises", "falls", "melts", "returns", "works", "starts", "drifts", "stops"};

/// "the storm covers the valley ." and "the valley melts .", which continues from the end (label 0), or "the storm
/// melts .", which starts again (1). Both repeat one of the two nouns, which are drawn alike: no count of words tells
/// the labels apart.
std::vector<SentencePair> linked_pairs(Index count, std::uint64_t seed, std::string_view stream) {
    std::vector<SentencePair> pairs;
    for (Index i = 0; i < count; ++i) {
        Random random(seed, hash_of(fmt::format("linked pairs {}", stream)) + static_cast<std::uint64_t>(i));
        const auto one_of = [&](const auto& words) { return words[random.below(std::size(words))]; };
        const std::string_view subject = one_of(nouns);
        std::string_view object = one_of(nouns);
        while (object == subject) object = one_of(nouns);
        const auto label = static_cast<int>(random.below(2));
        pairs.push_back({fmt::format("the {} {} the {} .", subject, one_of(transitive_verbs), object),
                         fmt::format("the {} {} .", label == 0 ? object : subject, one_of(verbs)), label});
    }
    return pairs;
}

// ---- The net ----

struct TextBatch {
    Index count;
    Index length;
    std::vector<int> rows;   // of the table, masked
    std::vector<int> plain;  // the same without masks
    std::vector<int> types;
    std::vector<int> attention;
    std::vector<int> places;  // of the masked words, among count * length
    std::vector<int> words;   // their rows
    std::vector<int> labels;  // next sentence: 0 follows, 1 does not
};

std::vector<Encoded> encoded(const WordPieces& pieces, const std::vector<SentencePair>& pairs) {
    std::vector<Encoded> all;
    for (const SentencePair& p : pairs) all.emplace_back(pieces, p.first, p.second, 0, p.label);
    return all;
}

TextBatch batch_of_pairs(const WordPieces& pieces, std::vector<Encoded> pairs, Random random) {
    std::size_t length = 8;
    for (const Encoded& p : pairs) length = std::max(length, p.ids.size());
    TextBatch batch{static_cast<Index>(pairs.size()), static_cast<Index>(length), {}, {}, {}, {}, {}, {}, {}};
    for (Encoded& plain : pairs) {
        plain.pad(length);
        std::vector<int> ids = plain.ids;
        for (const std::size_t place : mask_words(ids, random)) {
            batch.places.push_back(static_cast<int>(batch.rows.size() + place));
            batch.words.push_back(pieces.row(plain.ids[place]));
        }
        for (const int id : ids) batch.rows.push_back(pieces.row(id));
        for (const int id : plain.ids) batch.plain.push_back(pieces.row(id));
        batch.types.insert(batch.types.end(), plain.types.begin(), plain.types.end());
        batch.attention.insert(batch.attention.end(), plain.attention.begin(), plain.attention.end());
        batch.labels.push_back(plain.label);
    }
    return batch;
}

constexpr Index heads = 2;

std::vector<TransformerBlock> blocks_of(Model& model, Index width, Index layers) {
    std::vector<TransformerBlock> blocks;
    for (Index i = 1; i <= layers; ++i) blocks.emplace_back(model, fmt::format("block{}", i), width, heads);
    return blocks;
}

struct SmallBert {
    Embedding words, places, types;
    LayerNorm norm;
    std::vector<TransformerBlock> blocks;
    Linear mlm_hidden;
    LayerNorm mlm_norm;
    Linear mlm_out;
    Linear pooler;
    Linear nsp_out;

    SmallBert(Model& model, Index rows, Index width, Index layers)
        : words(model, "words", rows, width),
          places(model, "places", 64, width),
          types(model, "types", 2, width),
          norm(model, "norm", width),
          blocks(blocks_of(model, width, layers)),
          mlm_hidden(model, "mlm_hidden", width, width),
          mlm_norm(model, "mlm_norm", width),
          mlm_out(model, "mlm_out", width, rows),
          pooler(model, "pooler", width, width),
          nsp_out(model, "nsp_out", width, 2) {}

    /// Scores of the masked words and of "follows, does not".
    struct Scores {
        Var words;
        Var next;
    };
    Scores operator()(Tape& tape, const TextBatch& batch) const {
        const Shape shape{batch.count, batch.length};
        const Var word = words(tape, batch.rows, shape);
        const Var place = places(tape, place_numbers(batch.count, batch.length), shape);
        const Var type = types(tape, batch.types, shape);
        // Places and types count double: with less some seeds never learn to compare words of the two sentences.
        Var x = norm(add(add(word, scaled(place, 2)), scaled(type, 2)));
        const Var penalty = padding_penalty(tape, batch);
        for (const TransformerBlock& block : blocks) x = block(x, false, penalty);
        const Var flat = reshape(x, {batch.count * batch.length, x.dim(2)});
        const Var masked = embedding(flat, batch.places, {static_cast<Index>(batch.places.size())});
        return {mlm_out(mlm_norm(gelu(mlm_hidden(masked)))), nsp_out(tanh(pooler(first_place_of(x))))};
    }

  private:
    /// (count * heads, length, length): -10000 towards padding.
    static Var padding_penalty(Tape& tape, const TextBatch& batch) {
        Tensor penalty({batch.count * heads, batch.length, batch.length});
        for (Index i = 0; i < penalty.size(); ++i) {
            const Index text = i / (heads * batch.length * batch.length);
            const auto place = static_cast<std::size_t>(text * batch.length + i % batch.length);
            penalty[i] = batch.attention[place] == 0 ? -10000.0F : 0.0F;
        }
        return tape.input(std::move(penalty));
    }
};

// ---- The experiment ----

constexpr std::size_t next_right = 0;
constexpr std::size_t words_loss = 1;

/// The share of pairs, without masks, of which the net tells rightly whether the second follows, and its loss on the
/// masked words.
std::vector<double> scores_of(Evaluation& evaluation, const SmallBert& net, const TextBatch& test) {
    Tape tape(evaluation);
    const SmallBert::Scores scores = net(tape, test);
    TextBatch unmasked = test;
    unmasked.rows = test.plain;
    const Tensor& next = net(tape, unmasked).next.value();
    Index right = 0;
    for (Index i = 0; i < test.count; ++i) {
        right += (next[2 * i + 1] > next[2 * i] ? 1 : 0) == test.labels[static_cast<std::size_t>(i)] ? 1 : 0;
    }
    return {static_cast<double>(right) / static_cast<double>(test.count),
            static_cast<double>(cross_entropy(scores.words, test.words).value()[0])};
}

TaskBuilder text_task(const RunContext& context, const WordPieces& pieces) {
    const Settings& settings = context.settings;
    const auto of = [&](const char* count, std::string_view stream) {
        return encoded(pieces, linked_pairs(settings.integer(count), context.seed, stream));
    };
    const auto all = std::make_shared<const std::vector<Encoded>>(of("pairs", ""));
    const TextBatch test = batch_of_pairs(pieces, of("test_pairs", "test"), Random(context.seed, "masks of the test"));
    const Index size = settings.integer("batch");
    const Index hidden = settings.integer("hidden");
    const Index layers = settings.integer("layers");
    return [=, &pieces](Model& model, std::uint64_t seed) -> Task {
        const SmallBert net(model, pieces.rows(), hidden, layers);
        const auto order = batches(static_cast<Index>(all->size()), size, seed);
        const auto loss = [=, &pieces](Tape& tape, std::int64_t step) {
            std::vector<Encoded> pairs;
            for (const Index i : order(step)) pairs.push_back((*all)[static_cast<std::size_t>(i)]);
            const TextBatch batch = batch_of_pairs(pieces, std::move(pairs),
                                                   Random(seed, hash_of("masks") + static_cast<std::uint64_t>(step)));
            const SmallBert::Scores scores = net(tape, batch);
            const Var words = cross_entropy(scores.words, batch.words);
            return add(words, cross_entropy(scores.next, batch.labels));
        };
        return {.loss = loss, .measure = [=](Evaluation& evaluation, Learned& learned) {
                    learned.scores = scores_of(evaluation, net, test);
                    learned.examples = test.count;
                }};
    };
}

/// What the masking of many pairs does.
struct MaskCounts {
    std::int64_t words = 0, masked = 0, special = 0;  // of the masked places, how many hold special tokens

    MaskCounts(const WordPieces& pieces, bool special_too) {
        for (const SentencePair& pair : generated_sentence_pairs(1000, 1)) {
            const Encoded plain(pieces, pair.first, pair.second, 40);
            std::vector<int> hidden = plain.ids;
            Random random(7, hash_of(pair.first + pair.second));
            for (const std::size_t at : mask_words(hidden, random, special_too)) {
                ++(is_special(plain.ids[at]) ? special : masked);
            }
            for (const int id : plain.ids) words += is_special(id) ? 0 : 1;
        }
    }
};

void claim_tokens(const RunContext& context, const WordPieces& pieces, Result& result) {
    const std::string place = cite(sources::round_table, "Masked language model");
    const auto text = [](const std::vector<int>& numbers) { return fmt::format("{}", fmt::join(numbers, " ")); };
    const Encoded encoded(pieces, "AI RoundTable is fantastic.", "", 9);
    result.arithmetic("ids", place,
                      "\"AI RoundTable is fantastic.\" becomes these numbers, with [CLS], [SEP] and padding.",
                      equal("101 9932 2461 10880 2003 10392 1012 102 0", text(encoded.ids)));
    result.arithmetic("attention_mask", place, "The attention mask is 1 for text and 0 for padding.",
                      equal("1 1 1 1 1 1 1 1 0", text(encoded.attention)));
    result.arithmetic("token_types", place, "All token types of a single sentence are 0.",
                      equal("0 0 0 0 0 0 0 0 0", text(encoded.types)));
    const MaskCounts counts(pieces, has_control(context, "mask_special"));
    const double share = static_cast<double>(counts.masked) / static_cast<double>(counts.words);
    result.measured("mask_share", place, "15% of the words are masked, special tokens never.",
                    near(0.15, 0.01, share, {"masked", "%", 100, 2}) && equal(0, counts.special, "special tokens"));
    const Encoded pair(pieces, "AI RoundTable is fantastic.", "the weather is sunny.", 0);
    result.arithmetic("pair", cite(sources::round_table, "Next sentence prediction"),
                      "A pair is [CLS] first [SEP] second [SEP], with token types 0 and 1.",
                      equal(2, std::ranges::count(pair.ids, separator), "[SEP]") &&
                          equal("types 0 to 1", fmt::format("types {} to {}", pair.types.front(), pair.types.back())));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const WordPieces pieces;
    claim_tokens(context, pieces, result);
    const std::vector<Arithmetic> arithmetics =
        under_control(context, {fp32_arithmetic(), arithmetic_of(context, "bf16 unscaled", recipe_by_name("bf16")),
                                mixed_arithmetic(context, "fp16 scale 128", constant_loss_scale(128))});
    const Training training{.task = text_task(context, pieces),
                            .optimizer = adam_of(settings),
                            .steps = settings.integer("steps"),
                            .clip_norm = 1};
    const Comparison comparison = compare(context, result, arithmetics, training, settings.integer("seeds"));
    const std::string place = cite(sources::round_table, "Training BERT: MLM, NSP");
    const Quantity next{"next sentence right", "%", 100, 1};
    const Quantity loss{"loss of the masked words", "", 1, 3};
    result.measured("next_sentence", place,
                    "The net learns to tell whether a sentence follows: at least 90 % of unseen pairs, whose labels no "
                    "count of words tells.",
                    at_least(0.9, comparison.mean(0, next_right), next));
    const double guess = step::log(static_cast<double>(pieces.rows()));
    result.measured("masked_words", place, "The loss of the masked words falls to less than three quarters of a guess.",
                    below(0.75 * guess, comparison.mean(0, words_loss), loss));
    claim_parity(result, comparison, words_loss, loss,
                 {0.05, "the masked word's probability falls by a twentieth", Margin::Side::not_above}, "words", place,
                 "bf16 without scaling and fp16 with scale 128 learn the masked words as fp32 does.");
    claim_parity(result, comparison, next_right, next,
                 {0.02, "a fifth of the errors that next_sentence allows", Margin::Side::not_below}, "next", place,
                 "bf16 without scaling and fp16 with scale 128 tell the next sentence as fp32 does.");
    result.figure(
        figure_of_losses(comparison, 5, "loss", "Small BERT: masked words and next sentence, training loss", false));
    result.figure(
        figure_of_seeds(comparison, next_right, next, "next", "Small BERT: next sentence classified correctly"));
}

}  // namespace

Experiment experiment() {
    return {"bert",
            "Small BERT: masked words and next sentence",
            "Do BERT's two tasks train as well in bf16 and in fp16 with a scale of 128?",
            {Chapter::language, 1},
            {integer_setting("steps", "training steps", 1200, 3000, 2, 1000000).smoke(2),
             integer_setting("batch", "sentence pairs a step", 16, 16, 4, 4096),
             integer_setting("hidden", "width of the net", 32, 32, 4, 1024).published(128),
             integer_setting("layers", "blocks of attention", 2, 2, 1, 24).published(4),
             integer_setting("pairs", "generated sentence pairs to train on", 4000, 40000, 4, 10000000).smoke(100),
             integer_setting("test_pairs", "generated sentence pairs to test on", 200, 1000, 1, 100000).smoke(20),
             integer_setting("seeds", "runs of each arithmetic", 3, 10, 1, 100).smoke(1).published(1),
             real_setting("learning_rate", "of Adam", 3e-3, 3e-3, 0, 10),
             mixed_control("mask_special masks special tokens too", {"mask_special"})},
            run,
            {Control("control=mask_special", "mask_share"), Control("control=pure_fp16", "words_1 words_2"),
             Control("control=coarse", "words_1 words_2 next_1 next_2", RunSize::quick),
             Control("learning_rate=0", "next_sentence masked_words", RunSize::quick)}};
}

}  // namespace ulp::bert_experiment
