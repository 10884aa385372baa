// Nets that translate, after three of the talk's: an LSTM with attention (GNMT), a Transformer, and convolutions
// (Gehring et al., "Convolutional sequence to sequence learning", 2017).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "engine/data/generated.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// Sentence pairs as rectangles, batch-major, filled up with padding.
struct SentenceBatch {
    Index count = 0;
    Index source_length = 0;
    Index target_length = 0;
    std::vector<int> source;
    std::vector<int> before;  // the target behind its start token: what the decoder has seen
    std::vector<int> target;  // the target and its end token: what it should say

    SentenceBatch(const TranslationData& data, const std::vector<Index>& which);

    /// (count, target, source): -10000 where the source is padding, so that nothing attends there.
    [[nodiscard]] Tensor penalty() const;
    /// The places of the target that are no padding.
    [[nodiscard]] std::vector<Index> spoken() const;
};

struct TranslatorSizes {
    Index source_words;
    Index target_words;
    Index width;
};

/// Scores of the next words: (count * target_length, target words).
using Translator = std::function<Var(Tape&, const SentenceBatch&)>;

/// lstm, transformer or convolutional. Throws std::invalid_argument for another name.
Translator make_translator(std::string_view name, Model& model, const TranslatorSizes& sizes);

}  // namespace ulp
