#include "softfloat/array/make_plan.hpp"

#include <bit>

#include "softfloat/round.hpp"

namespace ulp::array {
namespace {

constexpr int fp32_fraction = formats::fp32.fraction_bits;
constexpr std::uint32_t smallest_normal_fp32 = 0x00800000;

/// The fp32 word of a storage word.
std::uint32_t word_of(const FloatFormat& format, std::uint64_t bits) {
    Context exact;
    return static_cast<std::uint32_t>(convert_bits(formats::fp32, format, bits, exact));
}

/// The fp32 word of 2^exponent, a normal number.
std::uint32_t power_of_two(int exponent) {
    return static_cast<std::uint32_t>(exponent + formats::fp32.bias) << fp32_fraction;
}

bool within_fp32(const FloatFormat& format) {
    return format.has_sign && format.has_subnormals && format.fraction_bits >= 1 &&
           format.fraction_bits <= fp32_fraction && format.emin() >= formats::fp32.emin() &&
           format.emax() <= formats::fp32.emax();
}

/// The smallest magnitude that is not flushed: 2^emin, or what rounds to it with an unbounded exponent. One place
/// finer than the format's own grid there, half a unit in the last place is 2^(emin - 2 - fraction_bits).
std::uint32_t smallest_unflushed(const FloatFormat& format, const ArrayContext& context, KernelRange range) {
    const std::uint32_t smallest_normal = power_of_two(format.emin());
    const bool nearest = context.rounding == Rounding::nearest_even || context.rounding == Rounding::nearest_away;
    if (!nearest || context.tininess == Tininess::before_rounding) return smallest_normal;
    // In units of fp32's last place in the binade below 2^emin; there is none below fp32's own smallest normal number.
    const int exponent = fp32_fraction - format.fraction_bits - (range == wide ? 2 : 1);
    return smallest_normal - (exponent >= 0 ? std::uint32_t{1} << exponent : 0);
}

void plan_extremes(RoundingPlan& plan, const FloatFormat& format, const ArrayContext& context) {
    plan.largest = word_of(format, pack(format, false, format.max_finite_magnitude()));
    plan.overflow_toward = plan.largest;
    const std::uint32_t infinity = word_of(format, infinity_bits(format, false));
    plan.overflow_away = context.saturate ? plan.largest : infinity;
    plan.infinity = plan.overflow_away;
    Context exact;
    plan.nan = word_of(format, convert_bits(format, formats::fp32, formats::fp32.nan_code(), exact));
}

void plan_subnormals(RoundingPlan& plan, const FloatFormat& format, Rounding rounding) {
    const int field_of_emin = format.emin() + formats::fp32.bias;
    plan.cut_at_zero = plan.cut + static_cast<std::uint32_t>(field_of_emin);
    const std::uint32_t field_of_cut_23 = plan.cut_at_zero - fp32_fraction;
    plan.hidden_parity = (field_of_cut_23 & 1) == 0 ? smallest_normal_fp32 : 0;
    plan.smallest = word_of(format, pack(format, false, 1));
    plan.tiny_exponent = std::bit_cast<std::uint32_t>(static_cast<float>(32 - format.smallest_exponent()));
    const std::uint32_t half = plan.smallest - smallest_normal_fp32;
    plan.tiny_half = rounding == Rounding::nearest_even ? half : rounding == Rounding::nearest_away ? half - 1 : 0;
}

void plan_code(RoundingPlan& plan, const FloatFormat& format) {
    plan.code_rebias = static_cast<std::uint32_t>(formats::fp32.bias - format.bias) << fp32_fraction;
    plan.code_smallest_normal = power_of_two(format.emin());
    plan.code_infinity = static_cast<std::uint32_t>(format.infinity_magnitude());
    plan.code_nan = static_cast<std::uint32_t>(format.has_nan() ? format.nan_code() : 0);
    plan.code_sign_shift = static_cast<std::uint32_t>(32 - format.storage_bits());
    plan.code_magnitude_mask = static_cast<std::uint32_t>(format.magnitude_mask());
    plan.code_hidden = std::uint32_t{1} << format.fraction_bits;
    const std::uint32_t reserved = format.specials == Specials::ieee           ? plan.code_hidden
                                   : format.specials == Specials::all_ones_nan ? 1
                                                                               : 0;
    plan.code_top = plan.code_magnitude_mask - reserved;
    plan.infinity_word = static_cast<std::uint32_t>(format.has_infinity() ? formats::fp32.infinity_magnitude()
                                                                          : formats::fp32.nan_code());
}

}  // namespace

std::optional<Plan> make_plan(const FloatFormat& format, const ArrayContext& context) {
    if (!within_fp32(format)) return std::nullopt;
    Plan plan{.constants = {}, .range = wide, .rounding = context.rounding};
    RoundingPlan& constants = plan.constants;
    constants.cut = static_cast<std::uint32_t>(fp32_fraction - format.fraction_bits);
    const bool all_digits = constants.cut == 0;
    if (format.emin() > formats::fp32.emin()) {
        plan.range = format.has_negative_zero() ? narrow : no_negative_zero;
        plan_subnormals(constants, format, context.rounding);
        // Every fp32 subnormal must be tiny: the cut of the lowest binade exceeds a significand's fraction.
        if (all_digits || constants.cut_at_zero < fp32_fraction + 2) return std::nullopt;
    } else if (!format.has_negative_zero()) {
        return std::nullopt;
    }
    if (context.flush_outputs) {
        const bool by_sign_or_chance = context.rounding == Rounding::up || context.rounding == Rounding::down ||
                                       context.rounding == Rounding::stochastic;
        if (by_sign_or_chance) return std::nullopt;
        constants.zero_below = smallest_unflushed(format, context, plan.range);
    }
    if (context.flush_inputs && constants.zero_below < smallest_normal_fp32) {
        constants.zero_below = smallest_normal_fp32;
    }
    // Nothing is dropped: the other kernels need a last kept bit above a dropped one.
    if (all_digits) plan.rounding = Rounding::toward_zero;
    constants.up = context.rounding == Rounding::up ? ~std::uint32_t{0} : 0;
    constants.zero_sum_sign = context.rounding == Rounding::down ? std::uint32_t{1} << 31 : 0;
    plan_extremes(constants, format, context);
    plan_code(constants, format);
    if (context.rounding == Rounding::stochastic) start_random(constants, context, 0);
    return plan;
}

void start_random(RoundingPlan& plan, const ArrayContext& context, std::size_t element) {
    const auto split = [](std::uint32_t(&words)[2], std::uint64_t x) {
        words[0] = static_cast<std::uint32_t>(x);
        words[1] = static_cast<std::uint32_t>(x >> 32);
    };
    split(plan.key, context.seed);
    split(plan.stream, context.stream);
    const std::uint64_t position = context.first + element;
    plan.block = position / 4;
    plan.skip = static_cast<std::uint32_t>(position % 4);
    plan.kept_bits = ~std::uint32_t{0} << (32 - context.random_bits);
}

}  // namespace ulp::array
