// The loops over all numbers of an operand, compiled for wide registers as well. What they do not handle (infinities,
// NaNs, rows with other roundings) is left to the definitions in elements.cpp.
#pragma once

#include <cstdint>

#include "softfloat/quantization/scale_of_block.hpp"

namespace ulp {

/// From here on an fp32 magnitude is infinite or NaN.
inline constexpr std::uint32_t first_special_word = 0x7F800000U;

/// For each block of `block` numbers, the last perhaps shorter, the word of its largest magnitude; infinities and NaNs
/// lie above all numbers.
void largest_words(const float* numbers, std::int64_t count, std::int64_t block, std::uint32_t* words);

/// Blocks that are columns: rows of numbers, `next_row` apart, one block for each number of a row.
struct Columns {
    const float* data;
    std::int64_t rows, cols, next_row;
};
/// The same for these.
void largest_words_of_columns(const Columns& from, std::uint32_t* words);

/// Scales of blocks from the words of their largest magnitudes, where scales_by_exponent is true of the row.
class ExponentScales {
  public:
    /// `of_zeros` is that of a block of zeros.
    ExponentScales(const Quantization& how, const BlockScale& of_zeros);
    /// dec and enc of each block; false where there is an infinity or a NaN, or no enc for zeros.
    bool operator()(const std::uint32_t* words, std::int64_t count, float* decodes, float* encodes) const;

    struct Steps {
        std::int32_t moved;  // what is subtracted from the largest magnitude's exponent field
        std::int32_t up;     // 1 where a scale is rounded up
        std::int32_t least, most;
        BlockScale of_zeros;
    };

  private:
    Steps steps_;
    bool zeros_have_encode_;
};

/// From numbers to elements where a row rounds number * enc to nearest even: as scale_numbers and round_elements do it,
/// in one pass.
class ScaledRounding {
  public:
    /// Whether the row makes its elements so.
    static bool fits(const Quantization& how);
    explicit ScaledRounding(const FloatFormat& element);

    /// In place: finite numbers, and an enc for each block. Infinite products become the largest element.
    void operator()(float* numbers, std::int64_t count, std::int64_t block, const float* encodes) const;

    /// The same from one memory to another.
    void operator()(const float* from, float* to, std::int64_t count, std::int64_t block, const float* encodes) const;
    void operator()(const Columns& from, float* to, std::int64_t next_to, const float* encodes) const;

    struct Steps {
        int cut;                      // fraction bits that are dropped
        std::uint32_t below_half;     // of them
        std::uint32_t smallest_word;  // of the format's normal numbers
        std::uint32_t largest_word;
        float subnormal_magic;  // from here on neighbouring fp32 numbers lie as the format's subnormals do
    };

  private:
    Steps steps_;
};

}  // namespace ulp
