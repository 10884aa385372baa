// How an operand of a product is quantised, as data: the format of its elements, which of them share a scale, and every
// step from the numbers to scale and elements. One function serves all rows (softfloat/quantization/quantize.hpp).
//
// An operand is lines of numbers along k, the index that a product sums over. The words of a row:
//
//     M      the largest number of the element format (E4M3 448, E5M2 57344, E2M1 6)
//     enc    what a number is multiplied by before it is rounded to an element
//     dec    what an element is multiplied by to mean the number again
//     S      the factor of the whole operand where its blocks' scales are narrow (NVFP4), else 1
#pragma once

#include <cfloat>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

namespace ulp {

/// The numbers that share a scale: that many lines times that many along k. 0 stands for all there are.
struct ScaleBlock {
    int lines = 0;
    int k = 0;
    constexpr bool operator==(const ScaleBlock&) const = default;
};

/// The signs of a Hadamard transform: Transformer Engine's, which are + at 0, 1, 2, 4, 11 and 13 of 16, or those of the
/// stream that a use names (one draw for each step of a training and each product).
enum class HadamardSigns : std::uint8_t { none, fixed, fresh };

/// y = x diag(signs) H / sqrt(size) for each `size` numbers along k, H Sylvester's matrix; 0: no transform. Both
/// operands of a product take the same one, which then leaves the exact product as it is.
struct HadamardTransform {
    int size = 0;
    HadamardSigns signs = HadamardSigns::none;
    constexpr bool operator==(const HadamardTransform&) const = default;
};

/// What a scale is computed from.
enum class ScaleStatistic : std::uint8_t {
    largest,    // the largest magnitude of its block
    deviation,  // the standard deviation of all its numbers
    outermost,  // the first number of the largest magnitude: its sign, turned round, is the scale's
    range       // the largest number minus the smallest one, zero among them
};

/// The first step of a scale. Each operation is one of fp32 unless it is said to be exact.
enum class ScaleStep : std::uint8_t {
    encode,                // enc = M / statistic
    decode,                // dec = statistic / M * S
    decode_by_reciprocal,  // dec = statistic * (S * (1 / M))
    exponent,              // dec = statistic / 2^emax of the element format, exact
    affine                 // dec = statistic * ratio + offset
};

/// What a block gets whose statistic is zero, infinite or NaN.
enum class SpecialScale : std::uint8_t {
    computed,  // what the rule's arithmetic gives
    one,
    least,    // the scale format's smallest positive number
    largest,  // its largest number
    nan,      // NaN, and zeros as elements
    old,      // the scale of the use before, 1 at the start
    skipped   // such numbers do not count: the statistic is that of the others
};

/// How a scale is computed from a statistic.
struct ScaleRule {
    ScaleStep step = ScaleStep::encode;
    FloatFormat format = formats::fp32;  // what the step gives is rounded to it, and kept in its range
    Rounding rounding = Rounding::nearest_even;
    double floor = 0;                 // the statistic is at least this
    bool statistic_on_grid = false;   // the statistic is first rounded half up to the element's fraction bits
    int margin = 0;                   // M is divided by 2^margin first
    float ratio = 1, offset = 0;      // of ScaleStep::affine
    float least = 0, most = FLT_MAX;  // what the step gives is kept between them
    float factor = 1;                 // multiplies dec once it is rounded
    float tensor_scale_max = 0;       // S = M * this / largest magnitude of the operand; 0: there is no S
    float largest = 0;                // M where it is not the element format's largest number; 0: it is
    bool only_stored = false;  // elements are made with dec as it was before it was rounded, which then may be infinite
    bool operator==(const ScaleRule&) const = default;
};

/// The error by which one of two candidates for a scale is picked: sums in fp32 by ascending index; where a block has
/// several lines, their sums in a balanced tree.
/// `largest`: no sum, but the largest.
enum class ScaleError : std::uint8_t { squared, absolute, largest };

/// A second candidate for each scale: the first step's dec times `factor`. It is taken where its error is less.
struct ScaleCandidate {
    float factor = 0;  // 0: there is no second candidate
    ScaleError error = ScaleError::squared;
    bool operator==(const ScaleCandidate&) const = default;
};

/// Elements that are whole numbers. The code of an element is its place between `least` and `greatest`, in two's
/// complement; the element itself is what is left after the zero point is subtracted.
struct WholeNumbers {
    int least = 0, greatest = 0;  // equal: the elements are of the row's format instead
    int zero = 0;                 // the zero point
    bool own_zero = false;        // each block has its own: least - the block's smallest number / dec, rounded
    bool half_up = false;         // rounded by adding zero + 1/2 in fp32 and dropping the fraction
    [[nodiscard]] constexpr bool any() const { return least != greatest; }
    constexpr bool operator==(const WholeNumbers&) const = default;
};

/// From a number to its element.
struct ElementRule {
    bool divide = false;        // number / dec instead of number * enc
    bool ties_to_zero = false;  // to nearest, ties toward zero (counts where the rounding is to nearest)
    bool zero_scale_saturates =
        false;  // under a dec of zero: enc is fp32's largest number; else the elements are zeros
    Context rounding{.saturate = true};  // too large numbers become the largest element
    WholeNumbers whole{};
    bool operator==(const ElementRule&) const = default;
};

/// A row.
struct Quantization {
    FloatFormat element = formats::e4m3;
    ScaleBlock block{};
    HadamardTransform transform{};
    ScaleStatistic statistic = ScaleStatistic::largest;
    ScaleRule scale{};
    ScaleCandidate candidate{};
    ElementRule elements{};
    SpecialScale zero = SpecialScale::computed;
    SpecialScale infinity = SpecialScale::nan;
    SpecialScale nan = SpecialScale::nan;
    bool operator==(const Quantization&) const = default;
};

/// Every field as text, for the identity of a run: equal texts are equal rows.
std::string text_of(const Quantization& how);

/// A row with its name, where its arithmetic is stated, and public code that computes it.
struct NamedQuantization {
    std::string name;
    Quantization how;
    std::string what;  // one line
    std::string source;
    std::string reproducer;
};

/// All named rows: "mxfp8", "nvfp4", ...
const std::vector<NamedQuantization>& named_quantizations();
/// Throws std::invalid_argument that lists the names there are.
const Quantization& quantization_by_name(std::string_view name);

/// Parts of a row that a use replaces.
struct QuantizationParts {
    std::optional<FloatFormat> element{}, scale_format{};
    std::optional<ScaleBlock> block{};
};
/// The row with these parts. Scales that become powers of two are rounded so that no element overflows, those that were
/// ones and become others to nearest. Throws std::invalid_argument for elements of a row of whole numbers, and for a
/// scale format without NaN, which blocks with an infinity or a NaN need.
Quantization with_parts(Quantization row, const QuantizationParts& parts);

namespace formats {
/// Powers of two from 2^-126 on, with a sign: enc and dec where a rule cuts them to a power of two.
inline constexpr FloatFormat power_of_two = {
    .exponent_bits = 8, .fraction_bits = 0, .bias = 127, .specials = Specials::all_ones_nan};
/// The whole numbers of up to that many bits, with a sign: E1M6 with steps of 1 for 8 bits.
constexpr FloatFormat whole_numbers(int bits) {
    return {.exponent_bits = 1, .fraction_bits = bits - 2, .bias = 3 - bits, .specials = Specials::none};
}
/// E1M2: 0 to 1.75 in steps of a quarter, that is INT4 over 4 with a sign instead of the 16th code.
inline constexpr FloatFormat e1m2 = {.exponent_bits = 1, .fraction_bits = 2, .bias = 1, .specials = Specials::none};
}  // namespace formats

}  // namespace ulp
