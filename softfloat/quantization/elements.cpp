#include "softfloat/quantization/elements.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "softfloat/array/array.hpp"
#include "softfloat/quantization/scale_of_block.hpp"

namespace ulp {
namespace {

/// sqrt(mean of squares - square of the mean), sums in fp32 by ascending index.
float deviation(const Stretch& block) {
    float sum = 0;
    float squares = 0;
    for (std::int64_t i = 0; i < block.rows; ++i) {
        for (std::int64_t j = 0; j < block.cols; ++j) {
            const float x = block.data[i * block.next_row + j];
            sum += x;
            squares += x * x;
        }
    }
    const auto count = static_cast<float>(block.rows * block.cols);
    const float mean = sum / count;
    return std::sqrt(std::max(squares / count - mean * mean, 0.0F));
}

/// To nearest, ties toward zero: the number below where the number above is as far.
void round_ties_to_zero(const FloatFormat& format, std::span<float> numbers) {
    std::vector<float> nearest(numbers.begin(), numbers.end());
    std::vector<float> below(numbers.begin(), numbers.end());
    round_array(format, nearest, {.saturate = true});
    round_array(format, below, {.rounding = Rounding::toward_zero, .saturate = true});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const float x = std::abs(numbers[i]);
        const bool tie = std::abs(nearest[i]) - x == x - std::abs(below[i]);
        numbers[i] = tie ? below[i] : nearest[i];
    }
}

/// A block's sums of rows in a balanced tree.
float tree_sum(std::span<const float> sums) {
    if (sums.size() == 1) return sums.front();
    const std::size_t half = (sums.size() + 1) / 2;
    return tree_sum(sums.first(half)) + tree_sum(sums.subspan(half));
}

}  // namespace

float largest_magnitude(const Quantization& how, const Stretch& block) {
    if (block.next_row == block.cols) return largest_magnitude(how, block.data, block.rows * block.cols);
    float largest = 0;
    for (std::int64_t i = 0; i < block.rows; ++i) {
        const float of_row = largest_magnitude(how, block.data + i * block.next_row, block.cols);
        if (!(of_row <= largest)) largest = of_row;
        if (std::isnan(largest)) break;
    }
    return largest;
}

float statistic_of(const Quantization& how, const Stretch& block) {
    return how.statistic == ScaleStatistic::largest ? largest_magnitude(how, block) : deviation(block);
}

void scale_numbers(const Quantization& how, const Stretch& block, float encode, float decode) {
    const bool nothing = encode == 0 || std::isnan(decode);
    const bool is_sticky = how.elements.rounding.rounding != Rounding::nearest_even;
    for (std::int64_t i = 0; i < block.rows; ++i) {
        float* row = block.data + i * block.next_row;
        if (nothing) {
            std::fill_n(row, block.cols, 0.0F);
        } else if (how.elements.divide) {
            for (std::int64_t j = 0; j < block.cols; ++j) row[j] /= decode;
        } else if (is_sticky) {  // a product too small for fp32 is still none that rounds up to zero
            for (std::int64_t j = 0; j < block.cols; ++j) {
                const float scaled = row[j] * encode;
                const bool lost = scaled == 0 && row[j] != 0;
                row[j] = lost ? std::copysign(std::numeric_limits<float>::denorm_min(), row[j]) : scaled;
            }
        } else {
            for (std::int64_t j = 0; j < block.cols; ++j) row[j] *= encode;
        }
    }
}

void round_elements(const Quantization& how, std::span<float> scaled, const Context& context) {
    if (how.elements.ties_to_zero && context.rounding == Rounding::nearest_even) {
        return round_ties_to_zero(how.element, scaled);
    }
    round_array(how.element, scaled, context);
}

Context with_stream(Context context, std::uint64_t seed, std::uint64_t stream) {
    context.seed = seed;
    context.stream = stream;
    context.saturate = true;
    return context;
}

float error_of(const Quantization& how, const Stretch& block, float encode, float decode) {
    std::vector<float> sums(static_cast<std::size_t>(block.rows), 0.0F);
    std::vector<float> row(static_cast<std::size_t>(block.cols));
    for (std::int64_t i = 0; i < block.rows; ++i) {
        const float* numbers = block.data + i * block.next_row;
        std::copy_n(numbers, block.cols, row.data());
        scale_numbers(how, {row.data(), 1, block.cols, block.cols}, encode, decode);
        round_elements(how, row, {.saturate = true});
        for (std::int64_t j = 0; j < block.cols; ++j) {
            const float error = row[static_cast<std::size_t>(j)] * decode - numbers[j];
            sums[static_cast<std::size_t>(i)] +=
                how.candidate.error == ScaleError::squared ? error * error : std::abs(error);
        }
    }
    return tree_sum(sums);
}

}  // namespace ulp
