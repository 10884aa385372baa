// Remainder, integral values, integers, minimum and maximum, neighbours, scalb, logb and classes against the oracle.
#include <limits>

#include "softfloat/float.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"
#include "tests/softfloat/type_names.hpp"

namespace ulp::test {
namespace {

template <FloatFormat F>
using ExactSum =
    std::conditional_t<F.exponent_bits <= 5, Narrow, std::conditional_t<F.exponent_bits <= 8, Wide, Unlimited>>;

template <FloatFormat F>
void check_remainder(Mismatches& found, const Oracle& oracle, std::uint64_t a, std::uint64_t b) {
    check_modes(found, oracle, oracle.remainder<ExactSum<F>>(a, b), {a, b},
                [&](Context& context) { return remainder_bits<WordFor<F>>(F, a, b, context); });
}

/// floor(|x|) and where |x| lies between it and the next integer, by long division of the definition.
struct IntegerPlace {
    Unlimited floor;
    int part = 0;  // 0 exact, 1 below the middle, 2 the middle, 3 above
};
IntegerPlace integer_place(const Number& x) {
    if (x.exponent >= 0) return {Unlimited(x.significand) << x.exponent, 0};
    const Unlimited one = Unlimited(1) << -x.exponent;
    const Unlimited rest = Unlimited(x.significand) % one;
    const int part = rest == 0 ? 0 : 2 * rest < one ? 1 : 2 * rest == one ? 2 : 3;
    return {Unlimited(x.significand) / one, part};
}

Unlimited rounded(const IntegerPlace& place, bool negative, Rounding rounding) {
    const bool odd = place.floor % 2 != 0;
    bool up = false;
    if (rounding == Rounding::nearest_even) up = place.part == 3 || (place.part == 2 && odd);
    if (rounding == Rounding::nearest_away) up = place.part >= 2;
    if (rounding == Rounding::down) up = negative && place.part != 0;
    if (rounding == Rounding::up) up = !negative && place.part != 0;
    if (rounding == Rounding::odd) up = !odd && place.part != 0;
    return up ? Unlimited(place.floor + 1) : place.floor;
}

/// What a conversion to Integer gives: x86's integer indefinite where it does not fit.
template <class Integer>
Answer expected_integer(const Number& x, Rounding rounding) {
    using Limits = std::numeric_limits<Integer>;
    const auto word = [](Integer value) { return static_cast<std::uint64_t>(value); };
    const Answer invalid{word(Limits::is_signed ? Limits::min() : Limits::max()), flag::invalid};
    if (x.kind != Number::Kind::finite) return invalid;
    const IntegerPlace place = integer_place(x);
    const Unlimited size = rounded(place, x.negative, rounding);
    const Unlimited value = x.negative ? Unlimited(-size) : size;
    if (value < Unlimited(Limits::min()) || value > Unlimited(Limits::max())) return invalid;
    return {word(static_cast<Integer>(value)), place.part == 0 ? 0 : flag::inexact};
}

template <class Integer, FloatFormat F>
int integer_differences(const Oracle& oracle, std::uint64_t bits) {
    int found = 0;
    for (const Rounding rounding : deterministic_roundings) {
        Context context{.rounding = rounding};
        const auto got = static_cast<std::uint64_t>(integer_from_bits<Integer>(F, bits, context));
        if (Answer{got, context.flags} != expected_integer<Integer>(oracle.number(bits), rounding)) ++found;
    }
    return found;
}

template <FloatFormat F>
int integral_differences(const Oracle& oracle, std::uint64_t bits) {
    const Number x = oracle.number(bits);
    int found = 0;
    for (const Rounding rounding : deterministic_roundings) {
        Context context{.rounding = rounding};
        const std::uint64_t got = round_to_integral_bits(F, bits, context);
        Answer expected = oracle.round(oracle.located(x), rounding);
        if (x.kind == Number::Kind::finite && !x.is_zero()) {
            const IntegerPlace place = integer_place(x);
            const auto size =
                static_cast<std::int64_t>(place.part == 0 ? Unlimited(0) : rounded(place, x.negative, rounding));
            if (place.part != 0) {
                expected = oracle.round(oracle.located({Number::Kind::finite, x.negative, size, 0}), rounding);
                expected.flags |= flag::inexact;
            }
        }
        if (Answer{got, context.flags} != expected) ++found;
    }
    return found;
}

/// Compares every code of the format with the integer type's conversions, in every mode.
template <FloatFormat F>
int integer_differences_of(const std::vector<std::uint64_t>& codes) {
    const Oracle oracle(F);
    int found = 0;
    for (const std::uint64_t bits : codes) {
        found +=
            integer_differences<std::int8_t, F>(oracle, bits) + integer_differences<std::uint16_t, F>(oracle, bits);
        found +=
            integer_differences<std::int32_t, F>(oracle, bits) + integer_differences<std::uint32_t, F>(oracle, bits);
        found +=
            integer_differences<std::int64_t, F>(oracle, bits) + integer_differences<std::uint64_t, F>(oracle, bits);
        found += integral_differences<F>(oracle, bits);
    }
    return found;
}

std::vector<std::uint64_t> random_codes(const FloatFormat& format, int count) {
    RandomWords random(3);
    std::vector<std::uint64_t> codes = interesting_codes(format);
    const std::uint64_t sixty_four = static_cast<std::uint64_t>(format.bias + 40) << format.fraction_bits;
    for (int i = 0; i < count; ++i)
        codes.push_back(random_code(format, random, i % 2 == 0 ? random.next() : sixty_four));
    return codes;
}

}  // namespace

TEST_CASE_TEMPLATE("the remainder equals the oracle on random operands", Type, fp16, bf16, tf32, fp32, fp64, e5m2, e4m3,
                   e4m3fnuz, e3m2) {
    const Oracle oracle(Type::format);
    RandomWords random(5);
    Mismatches found;
    for (int i = 0; i < (Type::format == formats::fp64 ? 2'000 : 100'000); ++i) {
        const std::uint64_t a = random_code(Type::format, random, random.next());
        check_remainder<Type::format>(found, oracle, a, random_code(Type::format, random, a));
    }
    INFO(found.first);
    CHECK(found.count == 0);
}

TEST_CASE_TEMPLATE("the remainder of every code with the edge codes equals the oracle", Type, fp16, bf16) {
    const Oracle oracle(Type::format);
    Mismatches found;
    for (const std::uint64_t a : all_codes(Type::format)) {
        for (const std::uint64_t b : edge_codes(Type::format)) {
            check_remainder<Type::format>(found, oracle, a, b);
            check_remainder<Type::format>(found, oracle, b, a);
        }
    }
    INFO(found.first);
    CHECK(found.count == 0);
}

TEST_CASE_TEMPLATE("the remainder of all pairs of a format of at most 8 bits equals the oracle", Type, e4m3, e5m2,
                   e4m3fnuz, e5m2fnuz, e3m2, e2m3, e2m1, e8m0) {
    const Oracle oracle(Type::format);
    Mismatches found;
    const auto codes = all_codes(Type::format);
    for (const std::uint64_t a : codes) {
        for (const std::uint64_t b : codes) check_remainder<Type::format>(found, oracle, a, b);
    }
    INFO(found.first);
    CHECK(found.count == 0);
}

TEST_CASE_TEMPLATE("every code converts to integers and to integral values as defined", Type, fp16, bf16, e5m2, e4m3,
                   e4m3fnuz, e3m2, e2m3, e2m1) {
    CHECK(integer_differences_of<Type::format>(all_codes(Type::format)) == 0);
}

TEST_CASE_TEMPLATE("random numbers convert to integers and to integral values as defined", Type, tf32, fp32, fp64) {
    CHECK(integer_differences_of<Type::format>(random_codes(Type::format, 20'000)) == 0);
}

TEST_CASE_TEMPLATE("integers convert with one rounding", Type, fp16, bf16, fp32, fp64, e4m3, e2m1) {
    const Oracle oracle(Type::format);
    RandomWords random(9);
    Mismatches found;
    for (int i = 0; i < 50'000; ++i) {
        const auto integer = static_cast<std::int64_t>(random.next()) >> random.below(64);
        const Number number{Number::Kind::finite, integer < 0, integer < 0 ? -integer : integer, 0};
        if (integer == std::numeric_limits<std::int64_t>::min()) continue;
        check_modes(found, oracle, oracle.located(number), {static_cast<std::uint64_t>(integer)},
                    [&](Context& context) { return bits_from_integer(Type::format, integer, context); });
    }
    Context context;
    CHECK(bits_from_integer(formats::fp32, std::numeric_limits<std::int64_t>::min(), context) == 0xDF000000);
    CHECK(bits_from_integer(formats::fp32, std::numeric_limits<std::uint64_t>::max(), context) == 0x5F800000);
    INFO(found.first);
    CHECK(found.count == 0);
}

TEST_CASE_TEMPLATE("next up is the least number above, next down the greatest below", Type, fp16, bf16, e5m2, e4m3,
                   e5m2fnuz, e4m3fnuz, e3m2, e2m3, e2m1, e8m0) {
    constexpr FloatFormat format = Type::format;
    const Oracle oracle(format);
    std::vector<std::uint64_t> sorted;  // every finite number once, ascending
    for (const std::uint64_t code : all_codes(format)) {
        const Number x = oracle.number(code);
        if (x.kind == Number::Kind::finite && !(x.is_zero() && x.negative)) sorted.push_back(code);
    }
    std::sort(sorted.begin(), sorted.end(),
              [&](auto a, auto b) { return scaled(oracle.number(a), 200) < scaled(oracle.number(b), 200); });
    Context context;
    int wrong = 0;
    const auto same_number = [&](std::uint64_t a, std::uint64_t b) {
        return a == b || (oracle.number(a).is_zero() && oracle.number(b).is_zero());
    };
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
        if (!same_number(next_up_bits(format, sorted[i], context), sorted[i + 1])) ++wrong;
        if (!same_number(next_down_bits(format, sorted[i + 1], context), sorted[i])) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(next_up_bits(format, sorted.back(), context) == infinity_bits(format, false));
    if (format.has_sign) CHECK(next_down_bits(format, sorted.front(), context) == infinity_bits(format, true));
    if (!format.has_sign) CHECK(is_nan(format, next_down_bits(format, sorted.front(), context)));
    if (format.has_infinity()) {
        CHECK(next_down_bits(format, infinity_bits(format, false), context) == sorted.back());
        CHECK(next_up_bits(format, infinity_bits(format, true), context) == sorted.front());
        CHECK(next_up_bits(format, infinity_bits(format, false), context) == infinity_bits(format, false));
    }
    if (format.has_negative_zero()) {
        CHECK(next_up_bits(format, pack(format, true, 1), context) == pack(format, true, 0));
        CHECK(next_up_bits(format, pack(format, true, 0), context) == pack(format, false, 1));
    }
    CHECK(context.flags == 0);
}

TEST_CASE_TEMPLATE("minimum, maximum and the comparisons follow the order of the numbers", Type, fp16, bf16, e5m2, e4m3,
                   e4m3fnuz, e2m1) {
    constexpr FloatFormat format = Type::format;
    const Oracle oracle(format);
    RandomWords random(13);
    int wrong = 0;
    for (int i = 0; i < 30'000; ++i) {
        const std::uint64_t a = i % 3 == 0 ? edge_codes(format)[random.below(14)] & (format.magnitude_mask() * 2 + 1)
                                           : random_code(format, random, random.next());
        const std::uint64_t b =
            i % 2 == 0 ? random_code(format, random, a) : a ^ (random.next() & 1) << (format.code_bits() - 1);
        const Number x = oracle.number(a);
        const Number y = oracle.number(b);
        const unsigned signals =
            x.kind == Number::Kind::signaling_nan || y.kind == Number::Kind::signaling_nan ? flag::invalid : 0;
        Context quiet, signaling, minimum, maximum, minimum_number, maximum_number;
        const Order order = compare_bits(format, a, b, quiet);
        if (compare_signaling_bits(format, a, b, signaling) != order) ++wrong;
        const std::uint64_t least = minimum_bits(format, a, b, minimum);
        const std::uint64_t greatest = maximum_bits(format, a, b, maximum);
        const std::uint64_t least_number = minimum_number_bits(format, a, b, minimum_number);
        const std::uint64_t greatest_number = maximum_number_bits(format, a, b, maximum_number);
        for (const unsigned flags :
             {quiet.flags, minimum.flags, maximum.flags, minimum_number.flags, maximum_number.flags}) {
            if (flags != signals) ++wrong;
        }
        if (x.is_nan() || y.is_nan()) {
            const std::uint64_t number = x.is_nan() && y.is_nan() ? nan_bits(format) : x.is_nan() ? b : a;
            if (order != Order::unordered || signaling.flags != flag::invalid) ++wrong;
            if (least != nan_bits(format) || greatest != nan_bits(format)) ++wrong;
            if (least_number != number || greatest_number != number) ++wrong;
            continue;
        }
        const auto size = [](const Number& n) {
            return n.kind == Number::Kind::infinity ? Unlimited(n.negative ? -1 : 1) << 3000 : scaled(n, 200);
        };
        const Unlimited difference = size(x) - size(y);
        const Order expected = difference < 0 ? Order::less : difference > 0 ? Order::greater : Order::equal;
        const bool a_is_less = difference < 0 || (difference == 0 && x.negative);
        if (order != expected || signaling.flags != 0) ++wrong;
        if (least != (a_is_less ? a : b) || greatest != (a_is_less ? b : a)) ++wrong;
        if (least_number != least || greatest_number != greatest) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("scalb rounds once, logb is the exponent of the leading bit", Type, fp16, bf16, fp32, e5m2, e4m3,
                   e2m1) {
    constexpr FloatFormat format = Type::format;
    const Oracle oracle(format);
    RandomWords random(17);
    Mismatches found;
    for (int i = 0; i < 40'000; ++i) {
        const std::uint64_t a = random_code(format, random, random.next());
        const int n = static_cast<int>(random.below(80)) - 40;
        Number x = oracle.number(a);
        Number leading = x;
        x.exponent += n;
        check_modes(found, oracle, oracle.located(x), {a},
                    [&](Context& context) { return scalb_bits(format, a, n, context); });
        if (leading.kind != Number::Kind::finite || leading.is_zero()) continue;
        int exponent = leading.exponent;
        for (std::int64_t rest = leading.significand; rest > 1; rest /= 2) ++exponent;
        const Number integer{Number::Kind::finite, exponent < 0, exponent < 0 ? -exponent : exponent, 0};
        check_modes(found, oracle, oracle.located(integer), {a},
                    [&](Context& context) { return logb_bits(format, a, context); });
    }
    INFO(found.first);
    CHECK(found.count == 0);
}

TEST_CASE("scalb, logb and class of the special values") {
    Context context;
    CHECK(logb(fp16::from_bits(0x8000), context).bits() == 0xFC00);
    CHECK(context.flags == flag::divide_by_zero);
    CHECK(logb(fp16::from_bits(0xFC00)).bits() == 0x7C00);
    CHECK(isnan(logb(fp16::from_bits(0x7E01))));
    CHECK(scalb(fp16{1}, 1'000'000'000).bits() == 0x7C00);
    CHECK(scalb(fp16{-1}, -1'000'000'000).bits() == 0x8000);
    CHECK(scalb(fp64{1}, -1074).bits() == 1);
    CHECK(classify(fp16::from_bits(0x7C01)) == NumberClass::signaling_nan);
    CHECK(classify(fp16::from_bits(0xFE00)) == NumberClass::quiet_nan);
    CHECK(classify(fp16::from_bits(0xFC00)) == NumberClass::negative_infinity);
    CHECK(classify(fp16::from_bits(0x7C00)) == NumberClass::positive_infinity);
    CHECK(classify(fp16::from_bits(0x8400)) == NumberClass::negative_normal);
    CHECK(classify(fp16::from_bits(0x03FF)) == NumberClass::positive_subnormal);
    CHECK(classify(fp16::from_bits(0x8000)) == NumberClass::negative_zero);
    CHECK(classify(fp16::from_bits(0x0000)) == NumberClass::positive_zero);
    CHECK(classify(e4m3fnuz::from_bits(0x80)) == NumberClass::quiet_nan);
    CHECK(classify(e4m3::from_bits(0x7F)) == NumberClass::quiet_nan);
    CHECK(classify(e8m0::from_bits(0)) == NumberClass::positive_normal);
}

TEST_CASE("signs: negation and absolute value, also of NaN and without a sign") {
    CHECK((-fp16{0}).bits() == 0x8000);
    CHECK((-fp16::from_bits(0x7E00)).bits() == 0xFE00);
    CHECK(abs(fp16::from_bits(0x8001)).bits() == 0x0001);
    CHECK((-e4m3fnuz{0}).bits() == 0x00);
    CHECK((-e4m3fnuz::from_bits(0x80)).bits() == 0x80);
    CHECK(isnan(abs(e4m3fnuz::from_bits(0x80))));
    CHECK(isnan(-e8m0{2}));
    CHECK(static_cast<bool>(e4m3fnuz::from_bits(0x80)));
    CHECK(!static_cast<bool>(fp16::from_bits(0x8000)));
}

}  // namespace ulp::test
