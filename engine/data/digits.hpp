// Digits made by a program: seven-segment figures with diagonal strokes, bent by an affine map, blurred, with noise.
// Integer arithmetic and counter-based random numbers only, so every machine makes the same bytes.
#pragma once

#include "engine/data/dataset.hpp"

namespace ulp {

struct DigitOptions {
    Index count = 2000;
    Index side = 28;  // 14 or 28 as in the experiments; any from 8 up
    std::uint64_t seed = 1;
    int noise = 24;  // amplitude of the noise, of 255
};

/// Image i depends on (seed, i) alone, so a longer set begins with the shorter one. Labels are drawn at random.
/// Throws std::invalid_argument for a side below 8, a negative count or a noise outside 0..255.
Dataset generated_digits(const DigitOptions& options);

/// A training and a test set from different streams of the same seed.
DataSplit generated_digit_split(Index train, Index test, Index side, std::uint64_t seed);

}  // namespace ulp
