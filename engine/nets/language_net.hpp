// A language model in the shape of GPT-2 (Radford et al., 2019): blocks that normalise first, gelu, learned places.
// What it weighs and what a step computes follow from the shape.
#pragma once

#include "engine/nets/nets.hpp"

namespace ulp {

struct LanguageNet {
    Index tokens = ascii_tokens;
    Index length = 64;  // tokens of an example, each at a learned place
    Index width = 128;
    Index blocks = 5;
    Index heads = 4;

    /// "words", "places", "block1.norm1" ..., "norm", "out". The last layer has weights and biases of its own.
    [[nodiscard]] Layers layers() const;
    [[nodiscard]] Index parameters() const { return parameters_of(layers(), {length}, tokens); }
    /// Multiply-adds of a training step's matrix products on `batch` examples: once forward, twice backward. Attention
    /// computes whole squares, what the mask hides included.
    [[nodiscard]] std::int64_t multiply_adds(Index batch) const;
};

}  // namespace ulp
