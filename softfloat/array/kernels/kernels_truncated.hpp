// Arithmetic whose last place is decided by an addition: stochastic rounding, and ties away from zero. Both increase
// the magnitude of x by a fraction of the last place, a random one or a half, and drop what is left below that place:
//
//     |x|:  1.kkkkkkkkkk dddddddddddd...  +  0.rrrrrrrr... of the last k,  then toward zero
//
// x itself is computed toward zero, as the processor's control register must say, with t digits. No number of t digits
// lies between that result and x, so "x is at least y" is true of both or of neither, for each y of at most t digits.
// The question here is of that kind: y is the next number of the format, of p digits, without the fraction, of r bits.
// So t >= p + r decides it; otherwise only results are undecided whose dropped digits and fraction add up to all ones.
//
// See kernels_round.hpp for how this file is compiled.
#pragma once

#include "softfloat/array/kernels/fractions.hpp"
#include "softfloat/array/kernels/kernels_arithmetic.hpp"

namespace ulp::array {
namespace {

/// In fp64, which holds more digits than fp32 operands have: sums of products, too, are rounded once.
template <class Vec, Operation op>
typename Vec::Double operate_in_double(typename Vec::Double a, typename Vec::Double b, typename Vec::Double c) {
    if constexpr (op == op_add) return Vec::add(a, b);
    if constexpr (op == op_multiply) return Vec::mul(a, b);
    if constexpr (op == op_divide) return Vec::div(a, b);
    if constexpr (op == op_sqrt) return Vec::sqrt(a);
    if constexpr (op == op_fma) return Vec::add(Vec::mul(a, b), c);
}
/// Words of fp64, those of the lower and those of the upper half of the lanes.
template <class Vec>
struct WideWords {
    using Int = typename Vec::Wide::Int;
    using Double = typename Vec::Double;
    Int low, high;
    [[nodiscard]] typename Vec::Int narrow() const {
        return Vec::as_int(Vec::narrow(reinterpret_cast<Double>(low), reinterpret_cast<Double>(high)));
    }
};
template <class Vec, Operation op>
WideWords<Vec> wide_words(const Doubles<Vec>& a, const Doubles<Vec>& b, const Doubles<Vec>& c) {
    using Wide = typename Vec::Wide::Int;
    return {reinterpret_cast<Wide>(operate_in_double<Vec, op>(a.low, b.low, c.low)),
            reinterpret_cast<Wide>(operate_in_double<Vec, op>(a.high, b.high, c.high))};
}
template <class Vec>
Doubles<Vec> widened(typename Vec::Int x) {
    return {Vec::widen_low(x), Vec::widen_high(x)};
}
template <class Vec>
Doubles<Vec> load_widened(const void* p) {
    return {Vec::load_widened(p), Vec::load_widened(static_cast<const unsigned char*>(p) + 2 * Vec::lanes)};
}
template <class Vec>
typename Vec::Int negative(typename Vec::Int x) {
    return Vec::bit_xor(x, Vec::set(sign_bit<Vec>));
}
template <class Vec>
Doubles<Vec> negative(const Doubles<Vec>& x) {
    return {-x.low, -x.high};
}

/// x with the fraction added, for any x: tiny ones, zeros, infinities and NaNs, and those that overflow. `fraction` in
/// the upper halves of the lanes.
template <class Vec>
typename Vec::Wide::Int with_fraction(const RoundingPlan64& plan, typename Vec::Wide::Int x,
                                      typename Vec::Wide::Int fraction) {
    using Wide = typename Vec::Wide;
    using Double = typename Vec::Double;
    const auto as_double = [](typename Wide::Int word) { return reinterpret_cast<Double>(word); };
    const auto sign = Wide::bit_and(x, Wide::set(sign_bit<Wide>));
    const auto a = Wide::bit_xor(x, sign);
    const auto binade =
        Wide::max(Wide::bit_and(a, Wide::set(infinity_word<Wide>)), Wide::set(plan.code_smallest_normal));
    // 2^-32 of the last place, with the sign of x.
    const std::uint64_t below = fraction_bits<Wide> - plan.cut + 32;
    const auto unit = Wide::bit_or(Wide::sub(binade, Wide::set(below << fraction_bits<Wide>)), sign);
    constexpr double two_52 = 0x1p52;
    const auto units = Vec::sub(as_double(Wide::bit_or(Wide::upper(fraction), Wide::set(std::uint64_t{0x433} << 52))),
                                Vec::set_double(two_52));
    const auto sum = reinterpret_cast<typename Wide::Int>(Vec::add(as_double(x), Vec::mul(units, as_double(unit))));
    const auto magnitude = Wide::and_not(sum, Wide::set(sign_bit<Wide>));
    const auto overflows = Wide::greater(magnitude, Wide::set(plan.largest + (std::uint64_t{1} << plan.cut) - 1));
    const auto limited = Wide::select(overflows, Wide::bit_or(Wide::set(plan.overflow_away), sign), sum);
    return Wide::select(Wide::greater(a, Wide::set(infinity_word<Wide>)), x, limited);
}
template <class Vec>
WideWords<Vec> with_fraction(const RoundingPlan64& plan, const WideWords<Vec>& x, typename Vec::Int fraction) {
    using Wide = typename Vec::Wide;
    return {with_fraction<Vec>(plan, x.low, Wide::template from_words<0>(fraction)),
            with_fraction<Vec>(plan, x.high, Wide::template from_words<1>(fraction))};
}

/// Whether results can be too small for the format's last place to be as far below their first digit as for others:
/// sums are exact there, and square roots never are so small.
constexpr bool can_be_tiny(Operation op) { return op == op_multiply || op == op_divide || op == op_fma; }

/// Which fp32 words are ordinary: their magnitudes lie between two others, these excluded; only below the upper one
/// where the operation's results cannot be tiny.
template <class Vec>
struct Ordinary {
    typename Vec::Int first, span, last;  // of magnitudes times 2
    Ordinary(std::uint32_t low, std::uint32_t high)
        : first(Vec::set(2 * low + 2)), span(Vec::set(2 * (high - low) - 4)), last(Vec::set(2 * high - 2)) {}
    template <bool can_be_tiny>
    [[nodiscard]] typename Vec::Mask others(typename Vec::Int x) const {
        const auto twice = Vec::add(x, x);  // the sign falls off
        if constexpr (can_be_tiny) return Vec::greater_unsigned(Vec::sub(twice, first), span);
        return Vec::greater_unsigned(twice, last);
    }
    template <bool can_be_tiny>
    [[nodiscard]] bool all(typename Vec::Int x) const {
        return !Vec::any(others<can_be_tiny>(x));
    }
    /// The same, without the sums for which x is a NaN.
    template <bool can_be_tiny>
    [[nodiscard]] bool all_but_nans(typename Vec::Int sum, typename Vec::Int x) const {
        const auto magnitude = Vec::and_not(x, Vec::set(sign_bit<Vec>));
        const auto nan = Vec::greater(magnitude, Vec::set(infinity_word<Vec>));
        return all<can_be_tiny>(Vec::select(nan, Vec::set(0x3F800000), sum));
    }
};

/// The fp32 word of a positive number from its fp64 word.
inline std::uint32_t narrow_word(std::uint64_t word) {
    return static_cast<std::uint32_t>((word - (std::uint64_t{1023 - 127} << 52)) >> 29);
}

/// Formats with the exponents of fp32, by way of fp64.
template <class Vec>
class ThroughDouble {
  public:
    explicit ThroughDouble(const RoundingPlan64& plan)
        : plan_(plan),
          ordinary_(narrow_word(plan.code_smallest_normal), narrow_word(plan.largest)),
          unused_(Vec::Wide::set(word_bits<typename Vec::Wide> - plan.cut)),
          dropped_(Vec::set(static_cast<std::uint32_t>((std::uint64_t{1} << (plan.cut - 29)) - 1))),
          near_next_(Vec::set(static_cast<std::uint32_t>((std::uint64_t{1} << plan.cut) - 4))),
          may_be_undecided_(plan.cut < 32 && plan.kept_bits << plan.cut != 0) {}

    /// Whether the results are decided. If so they are fp32 words.
    template <Operation op>
    [[gnu::always_inline]] bool compute(const Doubles<Vec>& a, const Doubles<Vec>& b, const Doubles<Vec>& c,
                                        typename Vec::Int fraction, typename Vec::Int& result) const {
        using Wide = typename Vec::Wide;
        const WideWords<Vec> x = wide_words<Vec, op>(a, b, c);
        WideWords<Vec> sum{Wide::add(x.low, Wide::shift_right(Wide::template from_words<0>(fraction), unused_)),
                           Wide::add(x.high, Wide::shift_right(Wide::template from_words<1>(fraction), unused_))};
        auto word = sum.narrow();
        if (__builtin_expect(!ordinary_.template all<can_be_tiny(op)>(word), 0)) {
            if (!ordinary_.template all_but_nans<can_be_tiny(op)>(word, x.narrow())) {
                sum = sum_of_any<op>(a, b, c, fraction);
                word = sum.narrow();
            }
            word = Vec::canonical_nan(word);
        }
        result = Vec::and_not(word, dropped_);
        return !may_be_undecided_ || !is_near_next(Wide::lower_words(sum.low, sum.high));
    }

  private:
    /// Apart from the usual way, which would keep x in memory for it.
    template <Operation op>
    [[gnu::noinline, gnu::cold]] WideWords<Vec> sum_of_any(const Doubles<Vec>& a, const Doubles<Vec>& b,
                                                           const Doubles<Vec>& c, typename Vec::Int fraction) const {
        return with_fraction<Vec>(plan_, wide_words<Vec, op>(a, b, c), fraction);
    }
    /// By less than 4 units of fp64: what is unknown of x and what falls off the sum are below 3.
    bool is_near_next(typename Vec::Int lower_words) const {
        return Vec::any(Vec::equal(Vec::bit_and(lower_words, near_next_), near_next_));
    }
    RoundingPlan64 plan_;
    Ordinary<Vec> ordinary_;
    typename Vec::Wide::Int unused_;  // of the fractions' bits
    typename Vec::Int dropped_;
    typename Vec::Int near_next_;  // of the lower words, where results may be undecided
    bool may_be_undecided_;
};
template <class Vec>
struct SingleTruncated : ThroughDouble<Vec> {
    using ThroughDouble<Vec>::ThroughDouble;
    static constexpr std::size_t size = 4;
    template <Operation>
    static Doubles<Vec> load(const void* p) {
        return load_widened<Vec>(p);
    }
    static void store(void* p, typename Vec::Int x) { Vec::store(p, x); }
};
template <class Vec>
struct BfloatTruncated : ThroughDouble<Vec> {
    using ThroughDouble<Vec>::ThroughDouble;
    static constexpr std::size_t size = 2;
    template <Operation>
    static Doubles<Vec> load(const void* p) {
        return widened<Vec>(Vec::shift_left(Vec::load16(p), Vec::set(16)));
    }
    static void store(void* p, typename Vec::Int x) { Vec::store16(p, Vec::shift_right(x, Vec::set(16))); }
};
/// fp16 in fp32; by way of fp64 what that leaves undecided, and what overflows.
template <class Vec>
class HalfTruncated {
  public:
    static constexpr std::size_t size = 2;
    explicit HalfTruncated(const RoundingPlan64& plan) : plan_(plan), ordinary_(0, narrow_word(plan.largest)) {}
    template <Operation>
    static typename Vec::Int load(const void* p) {
        return Vec::load_half(p);
    }
    static void store(void* p, typename Vec::Int x) { Vec::template store_half<Vec::zero>(p, x); }

    template <Operation op>
    [[gnu::always_inline]] bool compute(typename Vec::Int a, typename Vec::Int b, typename Vec::Int c,
                                        typename Vec::Int fraction, typename Vec::Int& result) const {
        const auto x = by_processor<Vec, op>(a, b, c);
        result = can_be_tiny(op) ? sum_of_any(x, fraction) : Vec::add(x, Vec::template shift_right<32 - cut>(fraction));
        const auto undecided = is_exact<op> ? Vec::none() : Vec::equal(Vec::bit_and(result, near_next_), near_next_);
        if (__builtin_expect(Vec::any(undecided, ordinary_.template others<false>(result)), 0)) {
            if (Vec::any(undecided) || !ordinary_.template all_but_nans<false>(result, x)) {
                result = in_double<op>(a, b, c, fraction);
            }
            result = Vec::canonical_nan(result);
        }
        return true;
    }

  private:
    static constexpr int cut = 13;
    template <Operation op>
    static constexpr bool is_exact = op == op_multiply;
    template <Operation op>
    [[gnu::noinline, gnu::cold]] typename Vec::Int in_double(typename Vec::Int a, typename Vec::Int b,
                                                             typename Vec::Int c, typename Vec::Int fraction) const {
        const auto x = wide_words<Vec, op>(widened<Vec>(a), widened<Vec>(b), widened<Vec>(c));
        return with_fraction<Vec>(plan_, x, fraction).narrow();
    }
    /// x with the upper 24 bits of the fraction of its last place added; that of subnormals is 2^-24. The other bits do
    /// not matter where x is exact: it has no digits below 2^-48.
    typename Vec::Int sum_of_any(typename Vec::Int x, typename Vec::Int fraction) const {
        const auto binade = Vec::bit_and(Vec::at_least(x, smallest_normal_), binade_);
        const auto unit = Vec::as_float(Vec::sub(binade, unit_));
        return Vec::as_int(Vec::fma(Vec::fraction_to_float(fraction), unit, Vec::as_float(x)));
    }
    RoundingPlan64 plan_;
    Ordinary<Vec> ordinary_;
    // Constants, in memory: registers are few. Undecided results lie by less than 4 units of fp32 below the next
    // number: x and the fraction, each cut to 24 digits, and their sum lack less than one.
    typename Vec::Int near_next_ = Vec::set((1 << cut) - 4);
    typename Vec::Int smallest_normal_ = Vec::set((127 - 14) << 23);
    typename Vec::Int binade_ = Vec::set(sign_bit<Vec> | infinity_word<Vec>);
    typename Vec::Int unit_ = Vec::set((10 + Vec::fraction_digits) << 23);
};

template <class Vec, Operation op, class Kind>
[[gnu::always_inline]] inline bool operate_register(const Kind& kind, const unsigned char* a, const unsigned char* b,
                                                    const unsigned char* c, typename Vec::Int fraction,
                                                    unsigned char* out) {
    const auto x = Kind::template load<op>(a);
    auto y = x;
    auto z = x;
    if constexpr (op != op_sqrt) y = Kind::template load<op>(b);
    if constexpr (op == op_fma) z = Kind::template load<op>(c);
    if constexpr (op == op_subtract) y = negative<Vec>(y);
    typename Vec::Int result;
    if (!kind.template compute < op == op_subtract ? op_add : op > (x, y, z, fraction, result)) return false;
    Kind::store(out, result);
    return true;
}
/// The last elements, fewer than a register's.
template <class Vec, Operation op, class Kind>
bool operate_rest(const Kind& kind, const unsigned char* a, const unsigned char* b, const unsigned char* c,
                  typename Vec::Int fraction, unsigned char* out, std::size_t count) {
    unsigned char buffer[4][Kind::size * Vec::lanes] = {};
    copy_bytes(buffer[0], a, Kind::size * count);
    if constexpr (op != op_sqrt) copy_bytes(buffer[1], b, Kind::size * count);
    if constexpr (op == op_fma) copy_bytes(buffer[2], c, Kind::size * count);
    if (!operate_register<Vec, op>(kind, buffer[0], buffer[1], buffer[2], fraction, buffer[3])) return false;
    copy_bytes(out, buffer[3], Kind::size * count);
    return true;
}

template <class Vec, Operation op, class Kind, class Fractions>
std::size_t operate_truncated(const RoundingPlan64& plan, const void* a, const void* b, const void* c, void* out,
                              std::size_t count) {
    constexpr std::size_t step = Kind::size * Vec::lanes;
    constexpr std::size_t two = op != op_sqrt ? 1 : 0;  // an operand that is not there stays null
    constexpr std::size_t three = op == op_fma ? 1 : 0;
    const auto* pa = static_cast<const unsigned char*>(a);
    const auto* pb = static_cast<const unsigned char*>(b);
    const auto* pc = static_cast<const unsigned char*>(c);
    auto* to = static_cast<unsigned char*>(out);
    const Kind kind(plan);
    Fractions fractions(plan);
    std::size_t done = 0;
    while (done < count) {
        fractions.advance();
        for (std::size_t i = 0; i < Fractions::group / Vec::lanes; ++i) {
            const std::size_t left = count - done;
            const auto fraction = fractions.at(i);
            if (left < Vec::lanes) {
                return operate_rest<Vec, op>(kind, pa, pb, pc, fraction, to, left) ? count : done;
            }
            if (!operate_register<Vec, op>(kind, pa, pb, pc, fraction, to)) return done;
            done += Vec::lanes;
            pa += step;
            pb += two * step;
            pc += three * step;
            to += step;
        }
    }
    return done;
}

template <class Vec, class Kind, class Fractions>
constexpr void fill_truncated(TruncatedKernel (&row)[operations]) {
    row[op_add] = operate_truncated<Vec, op_add, Kind, Fractions>;
    row[op_subtract] = operate_truncated<Vec, op_subtract, Kind, Fractions>;
    row[op_multiply] = operate_truncated<Vec, op_multiply, Kind, Fractions>;
    row[op_divide] = operate_truncated<Vec, op_divide, Kind, Fractions>;
    row[op_sqrt] = operate_truncated<Vec, op_sqrt, Kind, Fractions>;
    row[op_fma] = operate_truncated<Vec, op_fma, Kind, Fractions>;
}

}  // namespace
}  // namespace ulp::array
