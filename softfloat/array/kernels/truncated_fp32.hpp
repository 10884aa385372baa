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
// of `whole` too small; sums so near below `whole` are left undecided.
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

  public:
    static constexpr std::size_t size = 4;
    explicit Fp32Truncated(const RoundingPlan64& plan)
        : by_double_(plan),
          ordinary_(below_last << 23 | fraction_mask<Vec>, narrow_word(plan.largest)),
          cuts_fractions_(plan.kept_bits << 24 != 0) {}
    static Int load(const void* p) { return Vec::load(p); }
    static void store(void* p, Int x) { Vec::store(p, x); }

    /// See ThroughDouble.
    template <Operation op>
    [[gnu::always_inline]] bool compute(Int a, Int b, Int c, Int fraction, Int& result) const {
        if constexpr (op == op_fma) {
            return by_double_.template compute<op>(a, b, c, fraction, result);
        } else {
            const Int word = by_processor<Vec, op>(a, b, b);
            const bool ordinary = ordinary_.template all<true>(word);
            if (!ordinary && !ordinary_.template all_but_nans<true>(word, word)) {
                return compute_in_double<op>(a, b, fraction, result);
            }
            bool decided = false;
            if constexpr (op == op_add || op == op_multiply) {
                decided = round_in_places<op>(a, b, word, fraction, result);
            } else {
                decided = round_in_parts<op>(a, b, word, fraction, result);
            }
            if (__builtin_expect(!decided, 0)) return compute_in_double<op>(a, b, fraction, result);
            if (!ordinary) result = Vec::select(is_nan(word), Vec::set(0x7FC00000), result);
            return true;
        }
    }

  private:
    static constexpr std::uint32_t below_last = 23 + Vec::fraction_digits;

    template <Operation op>
    [[gnu::noinline, gnu::cold]] bool compute_in_double(Int a, Int b, Int fraction, Int& result) const {
        return by_double_.template compute<op>(a, b, b, fraction, result);
    }
    /// The unit of the fraction, in last places of x.
    static Int unit_of(Int x) {
        const Int binade = Vec::bit_and(x, Vec::set(sign_bit<Vec> | infinity_word<Vec>));
        return Vec::sub(binade, Vec::set(below_last << 23));
    }
    /// Sums and products.
    template <Operation op>
    bool round_in_places(Int a, Int b, Int x, Int fraction, Int& result) const {
        const Int unit = unit_of(x);
        const Float rest = negative_rest<op>(a, b, Vec::as_float(x));
        const Float sum = Vec::fnma(Vec::fraction_to_float(fraction), Vec::as_float(unit), rest);
        result = Vec::as_int(Vec::sub(Vec::as_float(x), sum));
        if (!cuts_fractions_) return true;
        const Int whole = Vec::add(unit, Vec::set(sign_bit<Vec> + (Vec::fraction_digits << 23)));
        return !is_near(whole, Vec::as_int(sum));
    }
    /// Quotients and roots.
    template <Operation op>
    bool round_in_parts(Int a, Int b, Int x, Int fraction, Int& result) const {
        const Float real = Vec::as_float(x);
        const Float divisor = op == op_sqrt ? real : Vec::as_float(b);
        const Float scale = op == op_sqrt ? Vec::add(real, real) : divisor;
        const Float part = Vec::mul(Vec::as_float(unit_of(x)), scale);
        const Float rest = Vec::fnma(real, divisor, Vec::as_float(a));
        const Int sum = Vec::as_int(Vec::fma(Vec::fraction_to_float(fraction), part, rest));
        const Int whole = Vec::add(Vec::as_int(part), Vec::set(Vec::fraction_digits << 23));
        result = Vec::select(Vec::greater_unsigned(whole, sum), x, Vec::add(x, Vec::set(1)));
        const bool may_be_near = op == op_sqrt || cuts_fractions_;
        return !is_subnormal(part) && !(may_be_near && is_near(whole, sum));
    }
    template <Operation op>
    static Float negative_rest(Int a, Int b, Float x) {
        const Float first = Vec::as_float(a);
        const Float second = Vec::as_float(b);
        if constexpr (op == op_multiply) return Vec::fnma(first, second, x);
        const Float larger = Vec::larger_magnitude(first, second);
        return Vec::sub(Vec::sub(x, larger), Vec::smaller_magnitude(first, second));
    }
    /// Any sum that is `whole` or by up to 8 units smaller; a unit may be half as large there.
    static bool is_near(Int whole, Int sum) {
        return Vec::any(Vec::greater_unsigned(Vec::set(9), Vec::sub(whole, sum)));
    }
    static typename Vec::Mask is_nan(Int x) {
        return Vec::greater(Vec::and_not(x, Vec::set(sign_bit<Vec>)), Vec::set(infinity_word<Vec>));
    }
    static bool is_subnormal(Float part) {
        const Int word = Vec::as_int(part);
        return Vec::any(Vec::greater_unsigned(Vec::set(2 * hidden_bit<Vec>), Vec::add(word, word)));
    }
    ThroughDouble<Vec> by_double_;
    Ordinary<Vec> ordinary_;
    bool cuts_fractions_;
};

}  // namespace
}  // namespace ulp::array
