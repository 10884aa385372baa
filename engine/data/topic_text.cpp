#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "engine/data/generated.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {
namespace {

/// Alternatives by symbol: a symbol in capitals is replaced by one of its alternatives, of the topic's column.
struct Rule {
    std::string_view symbol;
    int topic;  // 2: both
    std::string_view expansion;
};
constexpr Rule rules[] = {
    {"S", 2, "NP VP ."},          {"S", 2, "NP VP ADV ."},
    {"S", 2, "ADV , NP VP ."},    {"S", 2, "NP VP and NP VP ."},
    {"NP", 2, "the NOUN"},        {"NP", 2, "the ADJ NOUN"},
    {"NP", 2, "a ADJ NOUN"},      {"VP", 2, "VERB"},
    {"VP", 2, "TRANS the NOUN"},  {"VP", 2, "TRANS the ADJ NOUN"},
    {"VP", 2, "is ADJ"},          {"ADV", 0, "in the morning"},
    {"ADV", 0, "at night"},       {"ADV", 0, "over the hills"},
    {"ADV", 1, "after the test"}, {"ADV", 1, "in the first run"},
    {"ADV", 1, "on the bench"},   {"NOUN", 0, "storm"},
    {"NOUN", 0, "cloud"},         {"NOUN", 0, "wind"},
    {"NOUN", 0, "rain"},          {"NOUN", 0, "valley"},
    {"NOUN", 0, "sun"},           {"NOUN", 0, "river"},
    {"NOUN", 0, "snow"},          {"NOUN", 1, "student"},
    {"NOUN", 1, "meter"},         {"NOUN", 1, "circuit"},
    {"NOUN", 1, "result"},        {"NOUN", 1, "laser"},
    {"NOUN", 1, "signal"},        {"NOUN", 1, "sample"},
    {"NOUN", 1, "report"},        {"ADJ", 0, "cold"},
    {"ADJ", 0, "grey"},           {"ADJ", 0, "mild"},
    {"ADJ", 0, "bright"},         {"ADJ", 0, "heavy"},
    {"ADJ", 1, "precise"},        {"ADJ", 1, "noisy"},
    {"ADJ", 1, "careful"},        {"ADJ", 1, "stable"},
    {"ADJ", 1, "digital"},        {"VERB", 0, "rises"},
    {"VERB", 0, "falls"},         {"VERB", 0, "melts"},
    {"VERB", 0, "returns"},       {"VERB", 1, "works"},
    {"VERB", 1, "starts"},        {"VERB", 1, "drifts"},
    {"VERB", 1, "stops"},         {"TRANS", 0, "covers"},
    {"TRANS", 0, "follows"},      {"TRANS", 0, "fills"},
    {"TRANS", 0, "cools"},        {"TRANS", 1, "measures"},
    {"TRANS", 1, "records"},      {"TRANS", 1, "checks"},
    {"TRANS", 1, "confirms"},
};

bool is_symbol(std::string_view word) { return word.front() >= 'A' && word.front() <= 'Z'; }

std::string expand(std::string_view symbol, int topic, Random& random) {
    const auto fits = [&](const Rule& r) { return r.symbol == symbol && (r.topic == topic || r.topic == 2); };
    auto left = random.below(static_cast<std::uint64_t>(std::count_if(std::begin(rules), std::end(rules), fits)));
    const Rule& rule =
        *std::find_if(std::begin(rules), std::end(rules), [&](const Rule& r) { return fits(r) && left-- == 0; });
    std::istringstream words{std::string(rule.expansion)};
    std::string text;
    for (std::string word; words >> word;) {
        text += (text.empty() ? "" : " ") + (is_symbol(word) ? expand(word, topic, random) : word);
    }
    return text;
}

Random stream_of(std::uint64_t seed, std::string_view kind, std::string_view stream, Index i) {
    return Random(seed, hash_of(std::string(kind) + " " + std::string(stream)) + static_cast<std::uint64_t>(i));
}

/// As in print: a capital first, no blank before full stop and comma.
std::string printed(std::string sentence) {
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
    for (const char* mark : {" .", " ,"}) {
        for (auto at = sentence.find(mark); at != std::string::npos; at = sentence.find(mark)) sentence.erase(at, 1);
    }
    return sentence;
}

}  // namespace

std::vector<std::string> topic_vocabulary() {
    std::set<std::string> all;
    for (const Rule& rule : rules) {
        std::istringstream words{std::string(rule.expansion)};
        for (std::string word; words >> word;) {
            if (!is_symbol(word)) all.insert(word);
        }
    }
    return {all.begin(), all.end()};
}

std::vector<SentencePair> generated_sentence_pairs(Index count, std::uint64_t seed, std::string_view stream) {
    if (count < 0) throw std::invalid_argument("the number of sentence pairs cannot be negative");
    std::vector<SentencePair> pairs;
    for (Index i = 0; i < count; ++i) {
        Random random = stream_of(seed, "sentence pairs", stream, i);
        const auto topic = static_cast<int>(random.below(2));
        const auto label = static_cast<int>(random.below(2));
        const std::string first = expand("S", topic, random);
        pairs.push_back({first, expand("S", label == 0 ? topic : 1 - topic, random), label});
    }
    return pairs;
}

std::string generated_text(Index characters, std::uint64_t seed) {
    if (characters < 0) throw std::invalid_argument("the length of a text cannot be negative");
    std::string text;
    for (Index paragraph = 0; static_cast<Index>(text.size()) < characters; ++paragraph) {
        Random random = stream_of(seed, "paragraphs", "", paragraph);
        const auto topic = static_cast<int>(random.below(2));
        for (auto left = random.between(3, 6); left > 0; --left) {
            text += printed(expand("S", topic, random)) + (left > 1 ? " " : "\n");
        }
    }
    text.resize(static_cast<std::size_t>(characters));
    return text;
}

}  // namespace ulp
