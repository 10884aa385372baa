// Labelled images, as bytes: what the generators make, what the loaders read, and batches of them as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor/matrix.hpp"

namespace ulp {

struct Dataset {
    Index channels = 1;
    Index height = 0;
    Index width = 0;
    Index classes = 10;
    std::vector<std::uint8_t> pixels;  // one image after the other, each channels x height x width
    std::vector<std::uint8_t> labels;

    [[nodiscard]] Index size() const { return static_cast<Index>(labels.size()); }
    [[nodiscard]] Index features() const { return channels * height * width; }
    /// Images [first, first + count).
    [[nodiscard]] Dataset slice(Index first, Index count) const;
    /// SHA-256 of the pixels followed by the labels.
    [[nodiscard]] std::string digest() const;
};

/// A training set and a test set.
struct DataSplit {
    Dataset train;
    Dataset test;
};

/// Some of a data set's images as a matrix (images x features) of pixel / 255 in fp32, and their labels.
struct Batch {
    Matrix images;
    std::vector<int> labels;
};
Batch batch_of(const Dataset& data, const std::vector<Index>& which);

/// first, first + 1, ... end - 1.
std::vector<Index> index_range(Index first, Index end);

}  // namespace ulp
