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

/// f(number) for all of a block, line by line.
template <class Function>
void each_number(const Stretch& block, const Function& f) {
    for (std::int64_t i = 0; i < block.rows; ++i) {
        for (std::int64_t j = 0; j < block.cols; ++j) f(block.data[i * block.next_row + j]);
    }
}

float outermost(const Stretch& block) {
    float found = 0;
    each_number(block, [&](float x) {
        if (std::isnan(x) || std::abs(x) > std::abs(found)) found = x;
    });
    return found;
}

/// The largest number minus the smallest one, zero among them.
float range(const Stretch& block) {
    float least = 0, greatest = 0;
    bool nan = false;
    each_number(block, [&](float x) {
        least = std::min(least, x), greatest = std::max(greatest, x);
        nan = nan || std::isnan(x);
    });
    return nan ? std::numeric_limits<float>::quiet_NaN() : greatest - least;
}

/// To a whole number in fp32.
float whole(Rounding rounding, float x) {
    switch (rounding) {
        case Rounding::nearest_away: return std::round(x);
        case Rounding::toward_zero: return std::trunc(x);
        case Rounding::down: return std::floor(x);
        case Rounding::up: return std::ceil(x);
        default: return std::nearbyint(x);  // to nearest even, which the environment says
    }
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
    switch (how.statistic) {
        case ScaleStatistic::largest: break;
        case ScaleStatistic::deviation: return deviation(block);
        case ScaleStatistic::outermost: return outermost(block);
        case ScaleStatistic::range: return range(block);
    }
    return largest_magnitude(how, block);
}

float zero_point_of(const Quantization& how, const Stretch& block, float decode) {
    const WholeNumbers& codes = how.elements.whole;
    if (!codes.own_zero) return static_cast<float>(codes.zero);
    float least = 0;
    each_number(block, [&](float x) { least = std::min(least, x); });
    const auto lowest = static_cast<float>(codes.least);
    const float zero = lowest - std::nearbyint(least / decode);
    return std::isnan(zero) ? lowest : std::clamp(zero, lowest, static_cast<float>(codes.greatest));
}

void round_whole_numbers(const ElementRule& rule, std::span<float> scaled, float zero_point) {
    const WholeNumbers& codes = rule.whole;
    for (float& x : scaled) {
        const float code =
            codes.half_up ? std::trunc(x + (zero_point + 0.5F)) : whole(rule.rounding.rounding, x) + zero_point;
        x = std::clamp(code, static_cast<float>(codes.least), static_cast<float>(codes.greatest)) - zero_point;
    }
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
    float largest = 0;
    std::vector<float> row(static_cast<std::size_t>(block.cols));
    for (std::int64_t i = 0; i < block.rows; ++i) {
        const float* numbers = block.data + i * block.next_row;
        std::copy_n(numbers, block.cols, row.data());
        scale_numbers(how, {row.data(), 1, block.cols, block.cols}, encode, decode);
        round_elements(how, row, {.saturate = true});
        for (std::int64_t j = 0; j < block.cols; ++j) {
            const float error = row[static_cast<std::size_t>(j)] * decode - numbers[j];
            largest = std::max(largest, std::abs(error));
            sums[static_cast<std::size_t>(i)] +=
                how.candidate.error == ScaleError::squared ? error * error : std::abs(error);
        }
    }
    return how.candidate.error == ScaleError::largest ? largest : tree_sum(sums);
}

}  // namespace ulp
