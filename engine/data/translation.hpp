// Pairs of sequences made by a program: something to translate, and its only right translation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/matrix.hpp"

namespace ulp {

enum class TranslationTask : std::uint8_t {
    copy,     // letters -> the same
    reverse,  // letters -> backwards
    words,    // digits of a number below a million -> English number words: 3 0 4 -> three hundred and four
    grammar   // English sentences of a small synchronous grammar -> an invented language (verb last, adjective after
              // its noun, endings for the plural)
};
/// Throws std::invalid_argument that lists the names.
TranslationTask translation_task(std::string_view name);
const std::vector<std::string>& translation_task_names();

struct TranslationOptions {
    TranslationTask task = TranslationTask::reverse;
    Index count = 1000;
    int letters = 16;     // copy and reverse: how many different ones, 2..26
    int min_length = 4;   // copy and reverse: of the source
    int max_length = 10;  // likewise; words: of the number, up to 6 digits
    std::uint64_t seed = 1;
};

struct TranslationPair {
    std::vector<int> source;
    std::vector<int> target;
};

/// Tokens 0 to 2 stand for padding, start and end; sentences hold none of them.
inline constexpr int padding_token = 0;
inline constexpr int start_token = 1;
inline constexpr int end_token = 2;

struct TranslationData {
    std::vector<std::string> source_words;  // token -> text
    std::vector<std::string> target_words;
    std::vector<TranslationPair> pairs;

    [[nodiscard]] std::string source_text(std::size_t i) const;
    [[nodiscard]] std::string target_text(std::size_t i) const;
    /// SHA-256 of "source\ttarget\n" over all pairs.
    [[nodiscard]] std::string digest() const;
};

/// Pair i depends on (seed, i) alone. `stream` tells sets apart ("" for training). Throws std::invalid_argument for a
/// negative count, letters outside 2..26, or lengths that are below 1, above 64 (6 for words) or the wrong way round.
TranslationData generated_translation(const TranslationOptions& options, std::string_view stream = "");

}  // namespace ulp
