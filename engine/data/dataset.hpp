// Labelled images, as bytes: what the generators make, what the loaders read, and batches of them as numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/tensor/matrix.hpp"
#include "softfloat/errors.hpp"

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

// The idx files of MNIST (LeCun, Cortes, Burges), gzipped or not.

/// Images from an idx3 file (magic 0x803) and labels from an idx1 file (magic 0x801), big-endian counts.
/// Throws DataError.
Dataset read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

/// The MNIST files of a folder: train-images-idx3-ubyte[.gz] and its labels, t10k-images-idx3-ubyte[.gz] and its
/// labels. Where there are only the t10k files, their first 8,000 images train and the last 2,000 test. Throws
/// DataError.
DataSplit read_mnist(const std::filesystem::path& folder);

}  // namespace ulp
