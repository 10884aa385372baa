// Loaders for users' own data: CIFAR-10's binary files, PGM and PPM images, CSV tables, text by characters. (MNIST's
// idx files: idx.hpp; NumPy: files/npy.hpp; safetensors: files/safetensors.hpp.) All throw DataError naming the file
// and the remedy.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

/// Records of one label byte (0..9) and 3072 pixel bytes: 32 x 32, red, then green, then blue.
Dataset read_cifar10(const std::vector<std::filesystem::path>& files);

/// A picture in PGM (P5) or PPM (P6) with up to 255 levels, as channels x height x width.
struct Picture {
    Index channels;
    Index height;
    Index width;
    std::vector<std::uint8_t> pixels;
};
Picture read_netpbm(const std::filesystem::path& file);

/// A table of numbers under a line of column names, separated by commas; no quotes.
struct Table {
    std::vector<std::string> columns;
    Matrix rows;
};
Table read_csv(const std::filesystem::path& file);

/// A text as token ids: a token for each byte that occurs, in the order of the bytes.
struct CharacterText {
    std::string alphabet;  // token i is the character alphabet[i]
    std::vector<int> tokens;
};
CharacterText read_characters(const std::filesystem::path& file);

}  // namespace ulp
