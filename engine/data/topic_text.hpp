// English made by a grammar about two topics, the weather and the laboratory: sentences of a document keep to theirs,
// so that a reader can tell whether one sentence may follow another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/matrix.hpp"

namespace ulp {

/// Every word that occurs in the sentences, sorted.
std::vector<std::string> topic_vocabulary();

/// A pair for next-sentence prediction: half of them of one topic (label 0: the second follows the first), half of two
/// (label 1), as the labels are numbered in BERT.
struct SentencePair {
    std::string first;  // lower case, words and a full stop apart by blanks
    std::string second;
    int label;
};
/// Pair i depends on (seed, i) alone. `stream` tells sets apart. Throws std::invalid_argument for a negative count.
std::vector<SentencePair> generated_sentence_pairs(Index count, std::uint64_t seed, std::string_view stream = "");

/// Running text for character models: paragraphs of three to six sentences of one topic, at least `characters` long,
/// cut there. Throws std::invalid_argument for a negative length.
std::string generated_text(Index characters, std::uint64_t seed);

}  // namespace ulp
