#include "tests/softfloat/oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace ulp::test {

namespace {

int length(Narrow x) {
    __extension__ typedef unsigned __int128 Unsigned;
    const auto wide = static_cast<Unsigned>(x);
    const auto high = static_cast<std::uint64_t>(wide >> 64);
    return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<std::uint64_t>(wide));
}
template <class Integer>
int length(const Integer& x) {
    return x == 0 ? 0 : static_cast<int>(boost::multiprecision::msb(x)) + 1;
}

/// The sign of left * 2^left_exponent - right * 2^right_exponent; neither is negative.
template <class Integer>
int compare(const Integer& left, int left_exponent, Narrow right, int right_exponent) {
    if (left == 0 || right == 0) return (left != 0 ? 1 : 0) - (right != 0 ? 1 : 0);
    const int left_top = length(left) + left_exponent;
    const int right_top = length(right) + right_exponent;
    if (left_top != right_top) return left_top < right_top ? -1 : 1;
    const int up = left_exponent - right_exponent;
    const Integer l = up > 0 ? Integer(left << up) : left;
    const Integer r = up < 0 ? Integer(Integer(right) << -up) : Integer(right);
    if (l == r) return 0;
    return l < r ? -1 : 1;
}

/// x is first * 2^second, but for bits beyond the 53 leading ones.
template <class Integer>
std::pair<double, int> leading_bits(const Integer& x) {
    const int drop = std::max(length(x) - 53, 0);
    return {static_cast<double>(static_cast<std::int64_t>(Integer(x >> drop))), drop};
}

Located::Part part_from(int compared_with_floor, int compared_with_middle) {
    if (compared_with_floor == 0) return Located::Part::exact;
    if (compared_with_middle < 0) return Located::Part::below_middle;
    return compared_with_middle == 0 ? Located::Part::middle : Located::Part::above_middle;
}

/// Whether the mode takes the upper of two neighbours.
bool takes_upper(Located::Part part, bool negative, bool lower_is_odd, Rounding rounding) {
    using Part = Located::Part;
    if (part == Part::exact) return false;
    switch (rounding) {
        case Rounding::nearest_even: return part == Part::above_middle || (part == Part::middle && lower_is_odd);
        case Rounding::nearest_away: return part != Part::below_middle;
        case Rounding::down: return negative;
        case Rounding::up: return !negative;
        case Rounding::odd: return !lower_is_odd;
        case Rounding::toward_zero:
        case Rounding::stochastic:
        case Rounding::stochastic_b:
        case Rounding::stochastic_c: break;
    }
    return false;
}

}  // namespace

/// |x| = p * 2^exponent / q, or the square root of p * 2^exponent.
template <class Integer>
struct Oracle::Exact {
    bool negative;
    Integer p;
    int exponent;
    Narrow q = 1;
    bool root = false;

    /// The sign of |x| - significand * 2^e.
    [[nodiscard]] int compared_with(Narrow significand, int e) const {
        if (root) return compare(p, exponent, significand * significand, 2 * e);
        return compare(p, exponent, significand * q, e);
    }
    [[nodiscard]] double estimate() const {
        const auto [leading, dropped] = leading_bits(p);
        const int scale = exponent + dropped;
        if (!root) return std::ldexp(leading / static_cast<double>(q), scale);
        const int odd = scale & 1;
        return std::ldexp(std::sqrt(std::ldexp(leading, odd)), (scale - odd) / 2);
    }
};

Oracle::Oracle(const FloatFormat& format) : format_(format) {
    const std::uint64_t codes = std::uint64_t{1} << (format.exponent_bits + format.fraction_bits);
    const std::uint64_t binade = std::uint64_t{1} << format.fraction_bits;
    last_finite_ = codes - 1 - static_cast<std::uint64_t>(format.unused_exponents) * binade;
    if (format.specials == Specials::ieee) last_finite_ -= binade;
    if (format.specials == Specials::all_ones_nan) last_finite_ -= 1;
    if (format.specials == Specials::one_nan_infinity) last_finite_ -= format.has_sign ? 1 : 2;
}

Number Oracle::magnitude(std::uint64_t code) const {
    const auto field = static_cast<int>(code >> format_.fraction_bits);
    const auto one = std::int64_t{1} << format_.fraction_bits;
    const auto fraction = static_cast<std::int64_t>(code) & (one - 1);
    const bool subnormal = format_.has_subnormals && field == 0;
    return {Number::Kind::finite, false, subnormal ? fraction : one + fraction,
            (subnormal ? 1 : field) - format_.bias - format_.fraction_bits};
}

Number Oracle::number(std::uint64_t bits) const {
    const std::uint64_t code = bits >> format_.padding_bits;
    const int magnitude_bits = format_.exponent_bits + format_.fraction_bits;
    const std::uint64_t all_ones = (std::uint64_t{1} << magnitude_bits) - 1;
    const bool negative = format_.has_sign && (code >> magnitude_bits & 1) != 0;
    const std::uint64_t rest = code & all_ones;
    const auto special = [&](Number::Kind kind) { return Number{kind, negative, 0, 0}; };
    if (format_.specials == Specials::negative_zero_nan && negative && rest == 0) return special(Number::Kind::nan);
    if (format_.specials == Specials::all_ones_nan && rest == all_ones) return special(Number::Kind::nan);
    if (format_.specials == Specials::one_nan_infinity) {
        if (format_.has_sign ? negative && rest == 0 : rest == all_ones) return special(Number::Kind::nan);
        if (rest == last_finite_ + 1) return special(Number::Kind::infinity);
    }
    if (format_.specials == Specials::ieee && rest >> format_.fraction_bits == all_ones >> format_.fraction_bits) {
        const std::uint64_t fraction = rest & ((std::uint64_t{1} << format_.fraction_bits) - 1);
        if (fraction == 0) return special(Number::Kind::infinity);
        return special(fraction >> (format_.fraction_bits - 1) != 0 ? Number::Kind::nan : Number::Kind::signaling_nan);
    }
    Number number = magnitude(rest);
    number.negative = negative;
    return number;
}

/// A code near x >= 0: where the search for the exact one starts.
std::uint64_t Oracle::guess(double x) const {
    if (x == 0) return 0;
    if (std::isinf(x)) return last_finite_ + 1;
    const int emin = (format_.has_subnormals ? 1 : 0) - format_.bias;
    int binade = 0;
    std::frexp(x, &binade);
    binade = std::clamp(binade - 1, emin, emin + (1 << format_.exponent_bits));
    const double steps = std::min(std::ldexp(x, format_.fraction_bits - binade), 0x1p54);
    std::int64_t code = (static_cast<std::int64_t>(binade - emin) << format_.fraction_bits);
    code += static_cast<std::int64_t>(steps);
    if (!format_.has_subnormals) code -= std::int64_t{1} << format_.fraction_bits;
    return code < 0 ? 0 : std::min(static_cast<std::uint64_t>(code), last_finite_ + 1);
}

template <class Integer>
Located Oracle::locate(const Exact<Integer>& x, int fraction_bits) const {
    Located place;
    place.negative = x.negative;
    place.zero = x.p == 0;
    std::uint64_t code = guess(x.estimate());
    const auto against = [&](std::uint64_t c) {
        const Number number = magnitude(c);
        return x.compared_with(number.significand, number.exponent);
    };
    while (code > 0 && against(code) < 0) --code;
    while (code <= last_finite_ && against(code + 1) >= 0) ++code;
    place.floor = code;
    const int compared = against(code);
    place.below_grid = compared < 0;  // only with code 0 of a format without zero
    Number floor = magnitude(code);
    if (place.below_grid) floor.significand = 0;
    place.part =
        part_from(place.below_grid ? 1 : compared, x.compared_with(2 * floor.significand + 1, floor.exponent - 1));
    const Number smallest_normal = magnitude(format_.has_subnormals ? std::uint64_t{1} << format_.fraction_bits : 0);
    place.tiny = x.compared_with(smallest_normal.significand, smallest_normal.exponent) < 0;
    if (place.tiny && floor.significand == smallest_normal.significand - 1 &&
        (place.part == Located::Part::middle || place.part == Located::Part::above_middle)) {
        place.last_half_step = true;
        place.half_step_part = part_from(place.part == Located::Part::middle ? 0 : 1,
                                         x.compared_with(4 * floor.significand + 3, floor.exponent - 2));
    }
    for (int bit = fraction_bits - 1; bit >= 0; --bit) {
        const std::uint64_t trial = place.fraction | std::uint64_t{1} << bit;
        const Narrow scaled = (static_cast<Narrow>(floor.significand) << fraction_bits) + static_cast<Narrow>(trial);
        if (x.compared_with(scaled, floor.exponent - fraction_bits) >= 0) place.fraction = trial;
    }
    return place;
}

Located Oracle::invalid(unsigned flags) const {
    Located place;
    place.kind = Located::Kind::nan;
    place.flags = flags;
    return place;
}

namespace {
unsigned signals(const Number& a) { return a.kind == Number::Kind::signaling_nan ? flag::invalid : 0; }
Located infinite(bool negative, unsigned flags = 0) {
    Located place;
    place.kind = Located::Kind::infinity;
    place.negative = negative;
    place.flags = flags;
    return place;
}
}  // namespace

template <class Integer>
Located Oracle::located_sum(const Number& a, const Number& b, int fraction_bits) const {
    if (a.is_nan() || b.is_nan()) return invalid(signals(a) | signals(b));
    if (a.kind == Number::Kind::infinity && b.kind == Number::Kind::infinity && a.negative != b.negative) {
        return invalid(flag::invalid);
    }
    if (a.kind == Number::Kind::infinity) return infinite(a.negative);
    if (b.kind == Number::Kind::infinity) return infinite(b.negative);
    const int exponent = std::min(a.is_zero() ? b.exponent : a.exponent, b.is_zero() ? a.exponent : b.exponent);
    const auto aligned = [&](const Number& x) -> Integer {
        if (x.is_zero()) return 0;
        const Integer size = Integer(x.significand) << (x.exponent - exponent);
        return x.negative ? Integer(-size) : size;
    };
    const Integer total = aligned(a) + aligned(b);
    const bool negative = total < 0;
    Located place =
        locate(Exact<Integer>{.negative = negative, .p = negative ? Integer(-total) : total, .exponent = exponent},
               fraction_bits);
    if (total == 0) {
        place.negative = a.negative && b.negative;
        place.cancelled = a.negative != b.negative;
    }
    return place;
}

template <class Integer>
Located Oracle::sum(std::uint64_t a, std::uint64_t b, int fraction_bits) const {
    return located_sum<Integer>(number(a), number(b), fraction_bits);
}
template <class Integer>
Located Oracle::difference(std::uint64_t a, std::uint64_t b, int fraction_bits) const {
    Number minus_b = number(b);
    minus_b.negative = !minus_b.negative;
    return located_sum<Integer>(number(a), minus_b, fraction_bits);
}

Located Oracle::product(std::uint64_t a, std::uint64_t b, int fraction_bits) const {
    const Number x = number(a);
    const Number y = number(b);
    if (x.is_nan() || y.is_nan()) return invalid(signals(x) | signals(y));
    const bool negative = x.negative != y.negative;
    if (x.kind == Number::Kind::infinity || y.kind == Number::Kind::infinity) {
        return x.is_zero() || y.is_zero() ? invalid(flag::invalid) : infinite(negative);
    }
    return locate(Exact<Narrow>{.negative = negative,
                                .p = static_cast<Narrow>(x.significand) * y.significand,
                                .exponent = x.exponent + y.exponent},
                  fraction_bits);
}

Located Oracle::quotient(std::uint64_t a, std::uint64_t b, int fraction_bits) const {
    const Number x = number(a);
    const Number y = number(b);
    if (x.is_nan() || y.is_nan()) return invalid(signals(x) | signals(y));
    const bool negative = x.negative != y.negative;
    if (x.kind == Number::Kind::infinity) {
        return y.kind == Number::Kind::infinity ? invalid(flag::invalid) : infinite(negative);
    }
    if (y.is_zero()) return x.is_zero() ? invalid(flag::invalid) : infinite(negative, flag::divide_by_zero);
    const bool vanishes = y.kind == Number::Kind::infinity;
    return locate(Exact<Narrow>{.negative = negative,
                                .p = vanishes ? 0 : x.significand,
                                .exponent = vanishes ? 0 : x.exponent - y.exponent,
                                .q = vanishes ? 1 : y.significand},
                  fraction_bits);
}

Located Oracle::square_root(std::uint64_t a, int fraction_bits) const {
    const Number x = number(a);
    if (x.is_nan()) return invalid(signals(x));
    if (x.negative && !x.is_zero()) return invalid(flag::invalid);
    if (x.kind == Number::Kind::infinity) return infinite(false);
    return locate(Exact<Narrow>{.negative = x.negative, .p = x.significand, .exponent = x.exponent, .root = true},
                  fraction_bits);
}

template <class Integer>
Located Oracle::fused(std::uint64_t a, std::uint64_t b, std::uint64_t c, int fraction_bits) const {
    const Number x = number(a);
    const Number y = number(b);
    const Number z = number(c);
    const unsigned signaled = signals(x) | signals(y) | signals(z);
    if (x.is_nan() || y.is_nan()) return invalid(signaled);
    const bool infinite_factor = x.kind == Number::Kind::infinity || y.kind == Number::Kind::infinity;
    if (infinite_factor && (x.is_zero() || y.is_zero())) return invalid(flag::invalid);
    const bool negative = x.negative != y.negative;
    if (z.is_nan()) return invalid(signaled);
    if (infinite_factor) {
        const bool opposed = z.kind == Number::Kind::infinity && z.negative != negative;
        return opposed ? invalid(flag::invalid) : infinite(negative);
    }
    if (z.kind == Number::Kind::infinity) return infinite(z.negative);
    // The product of two 53-bit significands needs a wider integer than Number has.
    const bool no_product = x.is_zero() || y.is_zero();
    const int product_exponent = no_product ? z.exponent : x.exponent + y.exponent;
    const int exponent = z.is_zero() ? product_exponent : std::min(product_exponent, z.exponent);
    const Integer product = Integer(x.significand) * Integer(y.significand) << (product_exponent - exponent);
    const Integer addend = z.is_zero() ? Integer(0) : Integer(Integer(z.significand) << (z.exponent - exponent));
    const Integer total = (negative ? Integer(-product) : product) + (z.negative ? Integer(-addend) : addend);
    const bool below = total < 0;
    Located place = locate(
        Exact<Integer>{.negative = below, .p = below ? Integer(-total) : total, .exponent = exponent}, fraction_bits);
    if (total == 0) {
        place.negative = negative && z.negative;
        place.cancelled = negative != z.negative;
    }
    return place;
}

template <class Integer>
Located Oracle::remainder(std::uint64_t a, std::uint64_t b) const {
    const Number x = number(a);
    const Number y = number(b);
    if (x.is_nan() || y.is_nan()) return invalid(signals(x) | signals(y));
    if (x.kind == Number::Kind::infinity || y.is_zero()) return invalid(flag::invalid);
    if (y.kind == Number::Kind::infinity || x.is_zero()) return located(x);
    const int exponent = std::min(x.exponent, y.exponent);
    const Integer p = Integer(x.significand) << (x.exponent - exponent);
    const Integer q = Integer(y.significand) << (y.exponent - exponent);
    const Integer whole = p / q;
    Integer rest = p - whole * q;
    const Integer twice = rest * 2;
    const bool odd = Integer(whole - (whole / 2) * 2) != 0;
    bool negative = x.negative;
    if (twice > q || (twice == q && odd)) {
        rest = q - rest;
        negative = !negative;
    }
    if (rest == 0) negative = x.negative;
    return locate(Exact<Integer>{.negative = negative, .p = rest, .exponent = exponent}, 0);
}

Located Oracle::located(const Number& x, int fraction_bits) const {
    if (x.is_nan()) return invalid(format_.specials == Specials::none ? flag::invalid : signals(x));
    if (x.kind == Number::Kind::infinity) return infinite(x.negative);
    return locate(Exact<Narrow>{.negative = x.negative, .p = x.significand, .exponent = x.exponent}, fraction_bits);
}

std::uint64_t Oracle::word(bool negative, std::uint64_t code) const {
    const bool unsigned_zero = code == 0 && (format_.specials == Specials::negative_zero_nan ||
                                             format_.specials == Specials::one_nan_infinity);
    const bool sign = negative && format_.has_sign && !unsigned_zero;
    return (code | (sign ? std::uint64_t{1} << (format_.exponent_bits + format_.fraction_bits) : 0))
           << format_.padding_bits;
}

std::uint64_t Oracle::quiet_nan() const {
    const int magnitude_bits = format_.exponent_bits + format_.fraction_bits;
    const std::uint64_t all_ones = (std::uint64_t{1} << magnitude_bits) - 1;
    switch (format_.specials) {
        case Specials::ieee: {
            const std::uint64_t below_quiet_bit = (std::uint64_t{1} << (format_.fraction_bits - 1)) - 1;
            return word(false, all_ones ^ below_quiet_bit);
        }
        case Specials::all_ones_nan: return word(false, all_ones);
        case Specials::negative_zero_nan: return std::uint64_t{1} << (magnitude_bits + format_.padding_bits);
        case Specials::one_nan_infinity: return format_.has_sign ? std::uint64_t{1} << magnitude_bits : all_ones;
        case Specials::table:
        case Specials::none: break;
    }
    return last_finite_ << format_.padding_bits;  // no NaN in the format
}

std::uint64_t Oracle::infinity(bool negative) const {
    if (format_.largest_for_infinity) return word(negative, last_finite_);
    switch (format_.specials) {
        case Specials::ieee: {
            const std::uint64_t ones = (std::uint64_t{1} << format_.exponent_bits) - 1;
            return word(negative, ones << format_.fraction_bits);
        }
        case Specials::none: return word(negative, last_finite_);
        case Specials::all_ones_nan: return word(negative, quiet_nan() >> format_.padding_bits);  // keeps its sign
        case Specials::one_nan_infinity: return word(negative, last_finite_ + 1);
        case Specials::table:
        case Specials::negative_zero_nan: break;
    }
    return quiet_nan();
}

/// Whether the result with an unbounded exponent range would still lie below 2^emin.
bool Oracle::stays_tiny(const Located& x, Rounding rounding, Tininess tininess) const {
    if (!x.tiny) return false;
    if (tininess == Tininess::before_rounding || !x.last_half_step) return true;
    // The last number below 2^emin with all ones in its significand: it is odd.
    return !takes_upper(x.half_step_part, x.negative, true, rounding);
}

Answer Oracle::round(const Located& x, Rounding rounding, Tininess tininess, std::uint64_t random,
                     int random_bits) const {
    if (x.kind == Located::Kind::nan) return {quiet_nan(), x.flags};
    if (x.kind == Located::Kind::infinity) {
        if (x.negative && !format_.has_sign) return {quiet_nan(), x.flags | flag::invalid};
        return {infinity(x.negative), x.flags};
    }
    if (x.zero && format_.has_subnormals)
        return {word(x.cancelled ? rounding == Rounding::down : x.negative, 0), x.flags};
    const bool below_zero = x.negative && !x.zero && !format_.has_sign;
    if (below_zero && !format_.has_subnormals) return {quiet_nan(), x.flags | flag::invalid};
    const bool tiny = stays_tiny(x, rounding, tininess);
    if (x.below_grid) return {word(false, 0), x.flags | flag::inexact | (tiny ? flag::underflow : 0)};

    const bool odd = (format_.fraction_bits == 0 && !format_.even_codes) || (x.floor & 1) != 0;
    bool up = takes_upper(x.part, x.negative, odd, rounding);
    if (rounding == Rounding::stochastic) up = ((x.fraction + random) >> random_bits) != 0;
    if (below_zero && (x.floor > 0 || up)) {
        const bool to_zero = rounding == Rounding::toward_zero || rounding == Rounding::up;
        return to_zero ? Answer{0, x.flags | flag::overflow | flag::inexact}
                       : Answer{quiet_nan(), x.flags | flag::invalid};
    }
    if (x.floor > last_finite_ || (up && x.floor == last_finite_)) {
        const bool odd_is_finite = format_.specials != Specials::one_nan_infinity || (last_finite_ & 1) != 0;
        const bool inward = rounding == Rounding::toward_zero || (rounding == Rounding::odd && odd_is_finite) ||
                            rounding == (x.negative ? Rounding::up : Rounding::down);
        return {inward ? word(x.negative, last_finite_) : infinity(x.negative),
                x.flags | flag::overflow | flag::inexact};
    }
    const bool inexact = x.part != Located::Part::exact;
    const unsigned raised = inexact ? flag::inexact | (tiny ? flag::underflow : 0) : 0;
    return {word(x.negative, x.floor + (up ? 1 : 0)), x.flags | raised};
}

Answer Oracle::round(const Located& x, const Context& context) const {
    Answer answer = round(x, context.rounding, context.tininess, context.random, context.random_bits);
    if (context.flush_outputs && x.kind == Located::Kind::number && !x.zero &&
        stays_tiny(x, context.rounding, context.tininess)) {
        return {word(x.negative, 0), x.flags | flag::underflow | flag::inexact};
    }
    const bool infinite = x.kind == Located::Kind::infinity || (answer.flags & flag::overflow) != 0;
    const bool propagates = context.saturate == Saturation::sat_propagate && x.kind == Located::Kind::infinity;
    if (context.saturate && infinite && !propagates && !(x.negative && !format_.has_sign)) {
        answer.bits = word(x.negative, last_finite_);
    }
    return answer;
}

Unlimited scaled(const Number& number, int power) {
    const Unlimited significand = number.negative ? -number.significand : number.significand;
    return significand << (number.exponent + power);
}

template Located Oracle::sum<Narrow>(std::uint64_t, std::uint64_t, int) const;
template Located Oracle::sum<Wide>(std::uint64_t, std::uint64_t, int) const;
template Located Oracle::sum<Unlimited>(std::uint64_t, std::uint64_t, int) const;
template Located Oracle::difference<Narrow>(std::uint64_t, std::uint64_t, int) const;
template Located Oracle::difference<Wide>(std::uint64_t, std::uint64_t, int) const;
template Located Oracle::difference<Unlimited>(std::uint64_t, std::uint64_t, int) const;
template Located Oracle::fused<Narrow>(std::uint64_t, std::uint64_t, std::uint64_t, int) const;
template Located Oracle::fused<Wide>(std::uint64_t, std::uint64_t, std::uint64_t, int) const;
template Located Oracle::fused<Unlimited>(std::uint64_t, std::uint64_t, std::uint64_t, int) const;
template Located Oracle::remainder<Narrow>(std::uint64_t, std::uint64_t) const;
template Located Oracle::remainder<Wide>(std::uint64_t, std::uint64_t) const;
template Located Oracle::remainder<Unlimited>(std::uint64_t, std::uint64_t) const;

}  // namespace ulp::test
