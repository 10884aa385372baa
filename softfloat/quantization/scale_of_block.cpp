#include "softfloat/quantization/scale_of_block.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "softfloat/quantization/wide_loops.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

float value_of(const FloatFormat& format, std::uint64_t magnitude) {
    Context exact;
    const std::uint64_t word = convert_bits(formats::fp64, format, magnitude << format.padding_bits, exact);
    return static_cast<float>(std::bit_cast<double>(word));
}

/// Exponent of the largest power of two not above a positive number, and whether it is that power.
struct PowerBelow {
    int exponent;
    bool exact;
};
PowerBelow power_below(double value) {
    const auto word = std::bit_cast<std::uint64_t>(value);
    return {static_cast<int>(word >> 52) - 1023, (word & ((std::uint64_t{1} << 52) - 1)) == 0};
}

double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52); }

/// What a first step reads: the statistic, M, S, and the row.
struct StepOperands {
    double statistic;
    float largest_element;
    float factor;
    const Quantization* how;
};

// The first steps. A quotient of two fp32 numbers in fp64, rounded to fp32, is their quotient in fp32.
double encode(const StepOperands& o) { return static_cast<float>(o.largest_element / o.statistic); }
double decode(const StepOperands& o) { return static_cast<float>(o.statistic / o.largest_element) * o.factor; }
double decode_by_reciprocal(const StepOperands& o) {
    return static_cast<float>(o.statistic) * (o.factor * (1 / o.largest_element));
}
double exponent(const StepOperands& o) { return o.statistic * power_of_two(-o.how->element.emax()); }
double affine(const StepOperands& o) {
    return static_cast<float>(o.statistic) * o.how->scale.ratio + o.how->scale.offset;
}

struct Step {
    double (*compute)(const StepOperands&);
    bool gives_encode;
    bool takes_factor;
};
/// In the order of ScaleStep.
constexpr Step steps[] = {{encode, true, false},
                          {decode, false, true},
                          {decode_by_reciprocal, false, true},
                          {exponent, false, false},
                          {affine, false, false}};

const Step& step_of(const Quantization& how) { return steps[static_cast<std::size_t>(how.scale.step)]; }

/// Rounded half up to that many fraction bits.
float half_up(float x, int fraction_bits) {
    const int cut = formats::fp32.fraction_bits - fraction_bits;
    const std::uint32_t word = std::bit_cast<std::uint32_t>(x) + (std::uint32_t{1} << (cut - 1));
    return std::bit_cast<float>(word >> cut << cut);
}

}  // namespace

float largest_number(const FloatFormat& format) {
    return value_of(format, largest_bits(format, false) >> format.padding_bits);
}

bool scales_by_exponent(const Quantization& how) {
    const ScaleRule& rule = how.scale;
    return rule.step == ScaleStep::exponent && rule.format.fraction_bits == 0 && rule.floor == 0 &&
           !rule.statistic_on_grid && rule.least == 0 && rule.most == std::numeric_limits<float>::max() &&
           rule.factor == 1 && rule.tensor_scale_max == 0;
}

ScaleOfBlock::ScaleOfBlock(const Quantization& how, const QuantizedUse& use, float largest_of_operand)
    : how_(&how),
      old_encode_(use.old_encode),
      largest_element_(
          std::ldexp(how.scale.largest != 0 ? how.scale.largest : largest_number(how.element), -how.scale.margin)),
      smallest_scale_(value_of(how.scale.format, how.scale.format.has_subnormals ? 1 : 0)),
      largest_scale_(largest_number(how.scale.format)),
      by_exponent_(scales_by_exponent(how)) {
    const float most = how.scale.tensor_scale_max;
    if (most != 0 && !step_of(how).takes_factor) {
        throw std::invalid_argument("a factor of the whole operand needs a scale that is decoded: statistic / M * S");
    }
    if (most != 0 && largest_of_operand != 0) {
        factor_ = std::min(largest_element_ * most / largest_of_operand, std::numeric_limits<float>::max());
    }
    tensor_scale_ = 1 / factor_ * how.scale.factor;
}

float ScaleOfBlock::rounded(double value) const {
    const FloatFormat& format = how_->scale.format;
    const Rounding rounding = how_->scale.rounding;
    if (format.fraction_bits > 0) {
        const Context context{.rounding = rounding, .saturate = !how_->scale.only_stored};
        return static_cast<float>(round_to(format, value, context));
    }
    const auto [below, exact] = power_below(std::max<double>(value, smallest_scale_));
    const int up = rounding == Rounding::up && !exact ? 1 : 0;
    return static_cast<float>(power_of_two(std::min(below + up, format.emax())));
}

BlockScale ScaleOfBlock::from_decode(float decode) const {
    return {decode, std::min(1 / (decode * tensor_scale_), std::numeric_limits<float>::max())};
}

BlockScale ScaleOfBlock::by_rule(float statistic, float candidate) const {
    const ScaleRule& rule = how_->scale;
    const float on_grid = rule.statistic_on_grid ? half_up(statistic, how_->element.fraction_bits) : statistic;
    double first = step_of(*how_).compute({std::max<double>(on_grid, rule.floor), largest_element_, factor_, how_});
    if (candidate != 1) first = static_cast<float>(first) * candidate;
    const double kept = std::clamp<double>(first, rule.least, rule.most);
    const float scale = rounded(kept);
    if (rule.only_stored) return {scale, kept == 0 ? 0 : from_decode(static_cast<float>(kept)).encode};
    return step_of(*how_).gives_encode ? BlockScale{1 / scale, scale} : from_decode(scale);
}

/// by_rule where nothing but the statistic's power of two decides. It is finite and not zero.
BlockScale ScaleOfBlock::of_exponent(float statistic) const {
    const auto [above, exact] = power_below(statistic);
    const int least = power_below(smallest_scale_).exponent;
    const int below = above - how_->element.emax();
    const int up = how_->scale.rounding == Rounding::up && !exact && below >= least ? 1 : 0;
    const int exponent = std::clamp(below + up, least, how_->scale.format.emax());
    return {static_cast<float>(power_of_two(exponent)), static_cast<float>(power_of_two(-exponent))};
}

BlockScale ScaleOfBlock::operator()(float statistic, float candidate) const {
    const SpecialScale special = std::isnan(statistic)   ? how_->nan
                                 : std::isinf(statistic) ? how_->infinity
                                 : statistic == 0        ? how_->zero
                                                         : SpecialScale::computed;
    switch (special) {
        case SpecialScale::one: return {1, 1};
        case SpecialScale::least: return from_decode(smallest_scale_);
        case SpecialScale::largest: return from_decode(largest_scale_);
        case SpecialScale::nan: return {std::numeric_limits<float>::quiet_NaN(), 0};
        case SpecialScale::old: return {1 / old_encode_, old_encode_};
        case SpecialScale::computed:
        case SpecialScale::skipped: break;
    }
    if (by_exponent_ && candidate == 1 && std::isfinite(statistic) && statistic > 0) return of_exponent(statistic);
    const BlockScale scale = by_rule(std::abs(statistic), candidate);
    if (how_->statistic == ScaleStatistic::outermost && statistic >= 0) return {-scale.decode, -scale.encode};
    const bool kept = how_->elements.zero_scale_saturates || how_->scale.only_stored;
    return scale.decode == 0 && !kept ? BlockScale{0, 0} : scale;
}

float largest_magnitude(const Quantization& how, const float* numbers, std::int64_t count) {
    std::uint32_t word = 0;
    if (count > 0) largest_words(numbers, count, count, &word);
    if (word < first_special_word) return std::bit_cast<float>(word);
    float counted = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const float magnitude = std::abs(numbers[i]);
        const bool skipped = (std::isnan(magnitude) && how.nan == SpecialScale::skipped) ||
                             (std::isinf(magnitude) && how.infinity == SpecialScale::skipped);
        if (!skipped && !(magnitude <= counted)) counted = magnitude;
        if (std::isnan(counted)) break;
    }
    return counted;
}

}  // namespace ulp
