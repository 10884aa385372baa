#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <stdexcept>

#include "engine/data/generated.hpp"
#include "engine/files/sha256.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {
namespace {

/// A rule of the synchronous grammar: both sides grow together. On the right sides, words in capitals are symbols that
/// rules expand, each at most once; the same symbol on both sides is expanded by the same rule. SG and PL are singular
/// and plural.
struct Rule {
    std::string_view symbol;
    std::string_view source;
    std::string_view target;
};
constexpr Rule rules[] = {
    {"S", "SUBJ_SG VERB_SG OBJ", "SUBJ_SG OBJ VERB_SG"},
    {"S", "SUBJ_PL VERB_PL OBJ", "SUBJ_PL OBJ VERB_PL"},
    {"S", "SUBJ_SG VERB_SG OBJ PLACE", "PLACE SUBJ_SG OBJ VERB_SG"},
    {"S", "SUBJ_PL VERB_PL OBJ PLACE", "PLACE SUBJ_PL OBJ VERB_PL"},
    {"SUBJ_SG", "the NOUN_SG", "la NOUN_SG"},
    {"SUBJ_SG", "the ADJ NOUN_SG", "la NOUN_SG ADJ"},
    {"SUBJ_SG", "a NOUN_SG", "un NOUN_SG"},
    {"SUBJ_PL", "the NOUN_PL", "lai NOUN_PL"},
    {"SUBJ_PL", "the ADJ NOUN_PL", "lai NOUN_PL ADJ"},
    {"SUBJ_PL", "two NOUN_PL", "du NOUN_PL"},
    {"OBJ", "the THING", "la THING"},
    {"OBJ", "a COLOUR THING", "un THING COLOUR"},
    {"OBJ", "the COLOUR THING", "la THING COLOUR"},
    {"PLACE", "in the ROOM", "ROOM en"},
    {"PLACE", "near the ROOM", "ROOM pres"},
    {"NOUN_SG", "cat", "kato"},
    {"NOUN_SG", "dog", "hundo"},
    {"NOUN_SG", "child", "infano"},
    {"NOUN_SG", "teacher", "instruo"},
    {"NOUN_PL", "cats", "katoi"},
    {"NOUN_PL", "dogs", "hundoi"},
    {"NOUN_PL", "children", "infanoi"},
    {"NOUN_PL", "teachers", "instruoi"},
    {"ADJ", "small", "eta"},
    {"ADJ", "old", "olda"},
    {"ADJ", "quiet", "kvieta"},
    {"COLOUR", "red", "ruga"},
    {"COLOUR", "blue", "blua"},
    {"COLOUR", "green", "verda"},
    {"THING", "ball", "pilko"},
    {"THING", "book", "libro"},
    {"THING", "lamp", "lampo"},
    {"THING", "box", "skato"},
    {"ROOM", "kitchen", "kuiro"},
    {"ROOM", "garden", "gardo"},
    {"ROOM", "school", "lerno"},
    {"VERB_SG", "sees", "vidas"},
    {"VERB_SG", "finds", "trovas"},
    {"VERB_SG", "wants", "volas"},
    {"VERB_PL", "see", "vidan"},
    {"VERB_PL", "find", "trovan"},
    {"VERB_PL", "want", "volan"},
};

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

bool is_symbol(std::string_view word) { return word.front() >= 'A' && word.front() <= 'Z'; }

using Sentence = std::vector<std::string>;
struct Both {
    Sentence source;
    Sentence target;
};

/// Puts `part` where the symbol is.
void replace(Sentence& sentence, std::string_view symbol, const Sentence& part) {
    const auto at = std::find(sentence.begin(), sentence.end(), symbol);
    const auto after = sentence.erase(at);
    sentence.insert(after, part.begin(), part.end());
}

Both expand(std::string_view symbol, Random& random) {
    const auto fits = [&](const Rule& rule) { return rule.symbol == symbol; };
    const auto choices = static_cast<std::uint64_t>(std::count_if(std::begin(rules), std::end(rules), fits));
    auto left = random.below(choices);
    const Rule& rule =
        *std::find_if(std::begin(rules), std::end(rules), [&](const Rule& r) { return fits(r) && left-- == 0; });
    Both both{words_of(rule.source), words_of(rule.target)};
    for (const std::string& word : words_of(rule.source)) {
        if (!is_symbol(word)) continue;
        const Both part = expand(word, random);
        replace(both.source, word, part.source);
        replace(both.target, word, part.target);
    }
    return both;
}

constexpr std::array<std::string_view, 20> ones = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 8> tens = {"twenty", "thirty",  "forty",  "fifty",
                                                  "sixty",  "seventy", "eighty", "ninety"};

/// A number below 1000, not 0.
void say_hundreds(std::uint64_t number, Sentence& words) {
    const std::uint64_t rest = number % 100;
    if (number >= 100) {
        words.emplace_back(ones.at(number / 100));
        words.emplace_back("hundred");
        if (rest > 0) words.emplace_back("and");
    }
    if (rest >= 20) words.emplace_back(tens.at(rest / 10 - 2));
    if (rest >= 20 && rest % 10 > 0) words.emplace_back(ones.at(rest % 10));
    if (rest > 0 && rest < 20) words.emplace_back(ones.at(rest));
}

Both number_words(const TranslationOptions& options, Random& random) {
    const auto length = random.between(options.min_length, options.max_length);
    std::uint64_t number = 0;
    Both both;
    for (std::int64_t i = 0; i < length; ++i) {
        // No leading zero but in the number 0 itself.
        const std::uint64_t digit = i == 0 && length > 1 ? 1 + random.below(9) : random.below(10);
        number = 10 * number + digit;
        both.source.push_back(std::string(1, static_cast<char>('0' + digit)));
    }
    if (number == 0) both.target.emplace_back("zero");
    if (number >= 1000) {
        say_hundreds(number / 1000, both.target);
        both.target.emplace_back("thousand");
        if (number % 1000 > 0 && number % 1000 < 100) both.target.emplace_back("and");
    }
    if (number % 1000 > 0) say_hundreds(number % 1000, both.target);
    return both;
}

Both letters(const TranslationOptions& options, Random& random) {
    Both both;
    const auto length = random.between(options.min_length, options.max_length);
    for (std::int64_t i = 0; i < length; ++i) {
        const std::uint64_t letter = random.below(static_cast<std::uint64_t>(options.letters));
        both.source.push_back(std::string(1, static_cast<char>('a' + letter)));
    }
    both.target = both.source;
    if (options.task == TranslationTask::reverse) std::reverse(both.target.begin(), both.target.end());
    return both;
}

/// A vocabulary: the three special tokens, then words in the order of the lists that define the task.
std::vector<std::string> vocabulary(const TranslationOptions& options, bool source) {
    std::vector<std::string> words = {"<pad>", "<s>", "</s>"};
    const auto add = [&](std::string_view word) {
        if (std::find(words.begin(), words.end(), word) == words.end()) words.emplace_back(word);
    };
    if (options.task == TranslationTask::words && source) {
        for (char digit = '0'; digit <= '9'; ++digit) add(std::string(1, digit));
    } else if (options.task == TranslationTask::words) {
        for (const auto word : ones) add(word);
        for (const auto word : tens) add(word);
        for (const auto* word : {"hundred", "thousand", "and"}) add(word);
    } else if (options.task == TranslationTask::grammar) {
        for (const Rule& rule : rules) {
            for (const std::string& word : words_of(source ? rule.source : rule.target)) {
                if (!is_symbol(word)) add(word);
            }
        }
    } else {
        for (int letter = 0; letter < options.letters; ++letter) add(std::string(1, static_cast<char>('a' + letter)));
    }
    return words;
}

std::vector<int> tokens_of(const Sentence& sentence, const std::vector<std::string>& words) {
    std::vector<int> tokens;
    for (const std::string& word : sentence) {
        tokens.push_back(static_cast<int>(std::find(words.begin(), words.end(), word) - words.begin()));
    }
    return tokens;
}

std::string text_of(std::span<const int> tokens, const std::vector<std::string>& words) {
    std::string text;
    for (const int token : tokens) text += (text.empty() ? "" : " ") + words.at(static_cast<std::size_t>(token));
    return text;
}

void require_sensible(const TranslationOptions& options) {
    if (options.count < 0) throw std::invalid_argument("the number of sentence pairs cannot be negative");
    if (options.letters < 2 || options.letters > 26) {
        throw std::invalid_argument("copy and reverse take 2 to 26 different letters");
    }
    const int longest = options.task == TranslationTask::words ? 6 : 64;
    if (options.task != TranslationTask::grammar &&
        (options.min_length < 1 || options.max_length < options.min_length || options.max_length > longest)) {
        throw std::invalid_argument("lengths of sequences go from 1 to " + std::to_string(longest) +
                                    ", the smallest first");
    }
}

}  // namespace

const std::vector<std::string>& translation_task_names() {
    static const std::vector<std::string> names = {"copy", "reverse", "words", "grammar"};
    return names;
}

TranslationTask translation_task(std::string_view name) {
    const auto& names = translation_task_names();
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
        throw std::invalid_argument("no translation task \"" + std::string(name) +
                                    "\"; there are copy, reverse, words, grammar");
    }
    return static_cast<TranslationTask>(at - names.begin());
}

std::string TranslationData::source_text(std::size_t i) const { return text_of(pairs.at(i).source, source_words); }
std::string TranslationData::target_text(std::size_t i) const { return text_of(pairs.at(i).target, target_words); }

std::string TranslationData::digest() const {
    std::string all;
    for (std::size_t i = 0; i < pairs.size(); ++i) all += source_text(i) + "\t" + target_text(i) + "\n";
    return sha256_of(all);
}

TranslationData generated_translation(const TranslationOptions& options, std::string_view stream) {
    require_sensible(options);
    TranslationData data{vocabulary(options, true), vocabulary(options, false), {}};
    for (Index i = 0; i < options.count; ++i) {
        Random random(options.seed, hash_of("translation " + std::string(stream)) + static_cast<std::uint64_t>(i));
        Both both;
        if (options.task == TranslationTask::grammar) {
            both = expand("S", random);
        } else if (options.task == TranslationTask::words) {
            both = number_words(options, random);
        } else {
            both = letters(options, random);
        }
        data.pairs.push_back({tokens_of(both.source, data.source_words), tokens_of(both.target, data.target_words)});
    }
    return data;
}

}  // namespace ulp
