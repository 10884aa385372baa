// The idx files of MNIST (LeCun, Cortes, Burges), gzipped or not.
#pragma once

#include <filesystem>

#include "engine/data/dataset.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

/// Images from an idx3 file (magic 0x803) and labels from an idx1 file (magic 0x801), big-endian counts.
/// Throws DataError.
Dataset read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

/// The MNIST files of a folder: train-images-idx3-ubyte[.gz] and its labels, t10k-images-idx3-ubyte[.gz] and its
/// labels. Where there are only the t10k files, their first 8,000 images train and the last 2,000 test. Throws
/// DataError.
DataSplit read_mnist(const std::filesystem::path& folder);

}  // namespace ulp
