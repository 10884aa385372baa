#include "softfloat/array/make_plan.hpp"

#include <bit>

#include "softfloat/round.hpp"

namespace ulp::array {
namespace {

template <class Word>
constexpr FloatFormat container = sizeof(Word) == 8 ? formats::fp64 : formats::fp32;
template <class Word>
constexpr int container_fraction = container<Word>.fraction_bits;
template <class Word>
constexpr Word smallest_normal_of_container = Word{1} << container_fraction<Word>;
template <class Word>
constexpr Word word_bits_of = 8 * sizeof(Word);

/// The container's word of a storage word.
template <class Word>
Word word_of(const FloatFormat& format, std::uint64_t bits) {
    Context exact;
    return static_cast<Word>(convert_bits(container<Word>, format, bits, exact));
}

/// The container's word of 2^exponent, a normal number.
template <class Word>
Word power_of_two(int exponent) {
    return static_cast<Word>(exponent + container<Word>.bias) << container_fraction<Word>;
}

template <class Word>
bool within_container(const FloatFormat& format) {
    return format.has_sign && format.has_subnormals && format.fraction_bits >= 1 && format.specials <= Specials::none &&
           format.fraction_bits <= container_fraction<Word> && format.emin() >= container<Word>.emin() &&
           format.emax() <= container<Word>.emax();
}

template <class Word>
Word cut_of(const FloatFormat& format) {
    return static_cast<Word>(container_fraction<Word> - format.fraction_bits);
}

/// Where the lowest binade of normal numbers keeps no bit.
template <class Word>
Word cut_at_zero_of(const FloatFormat& format) {
    return cut_of<Word>(format) + static_cast<Word>(format.emin() + container<Word>.bias);
}

template <class Word>
void plan_extremes(BasicRoundingPlan<Word>& plan, const FloatFormat& format, const Context& context) {
    plan.largest = word_of<Word>(format, pack(format, false, format.max_finite_magnitude()));
    plan.overflow_toward = plan.largest;
    const Word infinity = word_of<Word>(format, infinity_bits(format, false));
    plan.overflow_away = saturation_of(format, context) != Saturation::ovf_inf ? plan.largest : infinity;
    plan.infinity = plan.overflow_away;
    Context exact;
    plan.nan = word_of<Word>(format, convert_bits(format, container<Word>, container<Word>.nan_code(), exact));
}

template <class Word>
void plan_subnormals(BasicRoundingPlan<Word>& plan, const FloatFormat& format, Rounding rounding) {
    plan.cut_at_zero = cut_at_zero_of<Word>(format);
    const Word field_of_whole_cut = plan.cut_at_zero - container_fraction<Word>;
    plan.hidden_parity = (field_of_whole_cut & 1) == 0 ? smallest_normal_of_container<Word> : 0;
    plan.smallest = word_of<Word>(format, pack(format, false, 1));
    const auto bits = static_cast<float>(8 * static_cast<int>(sizeof(Word)) - format.smallest_exponent());
    plan.tiny_exponent = word_of<Word>(formats::fp32, std::bit_cast<std::uint32_t>(bits));
    const Word half = plan.smallest - smallest_normal_of_container<Word>;
    plan.tiny_half = rounding == Rounding::nearest_even ? half : rounding == Rounding::nearest_away ? half - 1 : 0;
}

/// Which magnitudes count as tiny: those below 2^emin; after rounding, those that do not reach it when they are rounded
/// as if the exponent had no end. That drops `finer` bits of the container's word: as many as in the binade above, and
/// one less where the binade below 2^emin is the container's own subnormal one.
template <class Word>
void plan_flushing(BasicRoundingPlan<Word>& plan, const FloatFormat& format, const Context& context,
                   KernelRange range) {
    plan.flush_shift = word_bits_of<Word>;
    if (context.flush_outputs) {
        const Word smallest_normal = power_of_two<Word>(format.emin());
        plan.zero_below = smallest_normal;
        plan.zero_below_away = smallest_normal;
        const int finer = static_cast<int>(plan.cut) - (range == wide ? 1 : 0);
        if (context.tininess == Tininess::after_rounding && finer >= 1) {
            const Word unit = Word{1} << finer;
            const bool nearest =
                context.rounding == Rounding::nearest_even || context.rounding == Rounding::nearest_away;
            if (nearest) plan.zero_below -= unit / 2;
            plan.zero_below_away -= unit - 1;
            plan.flush_shift = word_bits_of<Word> - static_cast<Word>(finer);
        }
    }
    const Word smallest_of_container = smallest_normal_of_container<Word>;
    if (!context.flush_inputs || plan.zero_below > smallest_of_container) return;
    plan.zero_below = smallest_of_container;
    plan.zero_below_away = smallest_of_container;
    plan.flush_shift = word_bits_of<Word>;
}

template <class Word>
void plan_code(BasicRoundingPlan<Word>& plan, const FloatFormat& format) {
    plan.code_rebias = static_cast<Word>(container<Word>.bias - format.bias) << container_fraction<Word>;
    plan.code_smallest_normal = power_of_two<Word>(format.emin());
    plan.code_infinity = static_cast<Word>(format.infinity_magnitude());
    plan.code_nan = static_cast<Word>(format.has_nan() ? format.nan_code() : 0);
    plan.code_sign_shift = word_bits_of<Word> - static_cast<Word>(format.code_bits());
    plan.code_padding = static_cast<Word>(format.padding_bits);
    plan.code_magnitude_mask = static_cast<Word>(format.magnitude_mask());
    plan.code_hidden = Word{1} << format.fraction_bits;
    const Word reserved = format.specials == Specials::ieee           ? plan.code_hidden
                          : format.specials == Specials::all_ones_nan ? 1
                                                                      : 0;
    plan.code_top = plan.code_magnitude_mask - reserved;
    plan.infinity_word =
        static_cast<Word>(format.has_infinity() ? container<Word>.infinity_magnitude() : container<Word>.nan_code());
}

/// Formats whose subnormals begin higher than the container's need that every subnormal of the container is tiny: the
/// cut of the lowest binade exceeds a significand's fraction.
template <class Word>
bool has_plan_in(const FloatFormat& format) {
    if (!within_container<Word>(format)) return false;
    if (format.emin() == container<Word>.emin()) return format.has_negative_zero();
    return cut_of<Word>(format) > 0 && cut_at_zero_of<Word>(format) >= static_cast<Word>(container_fraction<Word> + 2);
}

template <class Word>
std::optional<BasicPlan<Word>> plan_in(const FloatFormat& format, const Context& context) {
    if (!has_plan_in<Word>(format)) return std::nullopt;
    BasicPlan<Word> plan{.constants = {}, .range = wide, .rounding = context.rounding};
    BasicRoundingPlan<Word>& constants = plan.constants;
    constants.cut = cut_of<Word>(format);
    if (format.emin() > container<Word>.emin()) {
        plan.range = format.has_negative_zero() ? narrow : no_negative_zero;
        plan_subnormals(constants, format, context.rounding);
    }
    plan_flushing(constants, format, context, plan.range);
    // Nothing is dropped: the other kernels need a last kept bit above a dropped one.
    if (constants.cut == 0) plan.rounding = Rounding::toward_zero;
    constants.up = context.rounding == Rounding::up ? ~Word{0} : 0;
    constants.zero_sum_sign = context.rounding == Rounding::down ? Word{1} << (word_bits_of<Word> - 1) : 0;
    plan_extremes(constants, format, context);
    plan_code(constants, format);
    if (context.rounding == Rounding::stochastic) start_random(constants, context, 0);
    return plan;
}

}  // namespace

bool has_plan(const FloatFormat& format) { return has_plan_in<std::uint32_t>(format); }
bool has_plan64(const FloatFormat& format) { return has_plan_in<std::uint64_t>(format); }

std::optional<Plan> make_plan(const FloatFormat& format, const Context& context) {
    // A training rounds many short arrays to one format: for them a plan costs as much as the rounding.
    struct Made {
        FloatFormat format;
        Context context;
        std::optional<Plan> plan;
    };
    static thread_local std::optional<Made> last;
    if (!last || last->format != format || last->context != context) {
        last = Made{format, context, plan_in<std::uint32_t>(format, context)};
    }
    return last->plan;
}
std::optional<Plan64> make_plan64(const FloatFormat& format, const Context& context) {
    return plan_in<std::uint64_t>(format, context);
}

template <class Word>
void start_random(BasicRoundingPlan<Word>& plan, const Context& context, std::size_t element) {
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
template void start_random(RoundingPlan&, const Context&, std::size_t);
template void start_random(RoundingPlan64&, const Context&, std::size_t);

}  // namespace ulp::array
