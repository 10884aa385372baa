// The arithmetic of kernels_truncated.hpp on fp32, in fp32: x, toward zero, and its rest, what it lacks of the exact
// result, which fused operations tell. The magnitude grows by one last place where
//
//     rest + fraction * whole  >=  whole           whole: one last place of x, u, in the scale of the rest
//
//     a + b      rest = b - (x - a), |a| >= |b|    whole = u
//     a * b      rest = a * b - x                  whole = u
//     a / b      rest = a - x * b                  whole = u * b
//     sqrt(a)    rest = a - x * x                  whole = u * 2x, and u * u, which is left out
//
// x - a is exact (Boldo, Graillat and Muller, "On the robustness of the 2Sum and Fast2Sum algorithms", ACM TOMS 44,
// 2017), and so are u * b, u * 2x and the rest of a quotient. The other rests are cut to 24 digits. Beside a number of
// 24 digits a cut number lies on the same side as before, and (1 - fraction) * u is one if the fraction has at most 24
// bits. Of longer fractions the last bits fall off. Then, and for roots, the sum is less than 4 units of the 24 digits
// of `whole` too small; sums so near below `whole` are left undecided. So are results whose unit 2^-32 * whole is not a
// normal number, with which nothing above would be exact; fp64 decides them (ThroughDouble).
//
// See kernels_round.hpp for how this file is compiled.
#pragma once

#include "softfloat/array/kernels/kernels_truncated.hpp"

namespace ulp::array {
namespace {

template <class Vec>
class Fp32Truncated {
    using Int = typename Vec::Int;
    using Float = typename Vec::Float;
    using Mask = typename Vec::Mask;

  public:
    static constexpr std::size_t size = 4;
    explicit Fp32Truncated(const RoundingPlan64& plan)
        : by_double_(plan),
          ordinary_(below_last << 23 | fraction_mask<Vec>, narrow_word(plan.largest)),
          cuts_fractions_(plan.kept_bits << 24 != 0) {}
    template <Operation op>
    static auto load(const void* p) {
        if constexpr (op == op_fma) {
            return load_widened<Vec>(p);
        } else {
            return Vec::load(p);
        }
    }
    static void store(void* p, Int x) { Vec::store(p, x); }

    /// See ThroughDouble.
    template <Operation op>
    [[gnu::always_inline]] bool compute(Int a, Int b, Int, Int fraction, Int& result) const {
        const Int word = by_processor<Vec, op>(a, b, b);
        const auto [rounded, undecided] = round<op>(a, b, word, fraction);
        result = rounded;
        if (__builtin_expect(Vec::any(undecided, ordinary_.template others<true>(word)), 0)) {
            if (Vec::any(undecided) || !ordinary_.template all_but_nans<true>(word, word)) {
                Int by_double;
                const bool decided = compute_in_double<op>(a, b, fraction, by_double);
                result = by_double;
                return decided;
            }
            result = Vec::select(is_nan(word), Vec::set(0x7FC00000), result);
        }
        return true;
    }
    /// Fused sums are computed in fp64.
    template <Operation op>
    [[gnu::always_inline]] bool compute(const Doubles<Vec>& a, const Doubles<Vec>& b, const Doubles<Vec>& c,
                                        Int fraction, Int& result) const {
        return by_double_.template compute<op>(a, b, c, fraction, result);
    }

  private:
    static constexpr std::uint32_t below_last = 23 + Vec::fraction_digits;
    struct Rounded {
        Int word;
        Mask undecided;
    };

    template <Operation op>
    [[gnu::noinline, gnu::cold]] bool compute_in_double(Int a, Int b, Int fraction, Int& result) const {
        return by_double_.template compute<op>(widened<Vec>(a), widened<Vec>(b), widened<Vec>(b), fraction, result);
    }
    template <Operation op>
    [[gnu::always_inline]] Rounded round(Int a, Int b, Int word, Int fraction) const {
        const Float x = Vec::as_float(word);
        const Float units = Vec::fraction_to_float(fraction);
        const Float unit = Vec::as_float(Vec::sub(Vec::bit_and(word, binade_), unit_));  // in last places of x
        if constexpr (op == op_add || op == op_multiply) {
            const Float negative_sum = Vec::fnma(units, unit, negative_rest<op>(a, b, x));
            const Int rounded = Vec::as_int(Vec::sub(x, negative_sum));
            if (!cuts_fractions_) return {rounded, Vec::none()};
            return {rounded, Vec::equal(Vec::bit_and(Vec::as_int(negative_sum), near_next_), near_next_)};
        } else {
            const Float divisor = op == op_sqrt ? x : Vec::as_float(b);
            const Float part = Vec::mul(unit, op == op_sqrt ? Vec::add(x, x) : divisor);
            const Float rest = Vec::fnma(x, divisor, Vec::as_float(a));
            const Int sum = Vec::as_int(Vec::fma(units, part, rest));
            const Int bound = Vec::add(Vec::as_int(part), op == op_sqrt ? whole_ : below_whole_);
            const Int rounded = Vec::select(Vec::greater_unsigned(sum, bound), Vec::add(word, one_), word);
            const Mask subnormal = Vec::subnormal(part);
            if (op != op_sqrt && !cuts_fractions_) return {rounded, subnormal};
            return {rounded, Vec::either(subnormal, Vec::greater_unsigned(near_, Vec::sub(bound, sum)))};
        }
    }
    template <Operation op>
    static Float negative_rest(Int a, Int b, Float x) {
        const Float first = Vec::as_float(a);
        const Float second = Vec::as_float(b);
        if constexpr (op == op_multiply) return Vec::fnma(first, second, x);
        const Float larger = Vec::larger_magnitude(first, second);
        return Vec::sub(Vec::sub(x, larger), Vec::smaller_magnitude(first, second));
    }
    static Mask is_nan(Int x) {
        return Vec::greater(Vec::and_not(x, Vec::set(sign_bit<Vec>)), Vec::set(infinity_word<Vec>));
    }
    ThroughDouble<Vec> by_double_;
    Ordinary<Vec> ordinary_;
    bool cuts_fractions_;
    // Constants, in memory: registers are few.
    Int binade_ = Vec::set(sign_bit<Vec> | infinity_word<Vec>);
    Int unit_ = Vec::set(below_last << 23);
    Int whole_ = Vec::set(Vec::fraction_digits << 23);
    Int below_whole_ = Vec::set((Vec::fraction_digits << 23) - 1);
    Int one_ = Vec::set(1);
    Int near_next_ = Vec::set(fraction_mask<Vec> - 7);  // the fraction of a number so near below a power of two
    Int near_ = Vec::set(9);
};

}  // namespace
}  // namespace ulp::array
