// Every rule is tested: for each function, breaking any one rule of its special operands, any rounding mode or the side
// of a near tie makes the check over a format's codes fail.
#include <doctest/doctest.h>

#include "softfloat/functions/functions.hpp"
#include "tests/softfloat/functions/check_codes.hpp"

namespace ulp::test {
namespace {

using Rule = Special::Rule;

/// Mutants of a function's table. Each says whether it changes anything at x; one that never does is no mutant.
struct Mutation {
    std::string_view name;
    bool (*applies)(const Special& special);
    Special (*change)(Special special);
};
bool is_number(const Special& s, Kind kind) { return s.rule == Rule::exact && s.value.kind == kind; }
Special negated(Special s) {
    s.value.sign = !s.value.sign;
    return s;
}
constexpr std::array mutations{
    Mutation{"zero of the other sign", [](const Special& s) { return is_number(s, Kind::zero); }, negated},
    Mutation{"infinity of the other sign", [](const Special& s) { return is_number(s, Kind::infinity); }, negated},
    Mutation{"exact number of the other sign", [](const Special& s) { return is_number(s, Kind::finite); }, negated},
    Mutation{"exact number reported as inexact", [](const Special& s) { return is_number(s, Kind::finite); },
             [](Special s) {
                 s.value.significand = s.value.significand << 30 | 1;
                 s.value.exponent -= 30;
                 return s;
             }},
    Mutation{"infinity instead of a number", [](const Special& s) { return is_number(s, Kind::finite); },
             [](Special s) { return Special::infinity(s.value.sign); }},
    Mutation{"pole without divide by zero", [](const Special& s) { return s.rule == Rule::pole; },
             [](Special s) { return Special::infinity(s.value.sign); }},
    Mutation{"pole of the other sign", [](const Special& s) { return s.rule == Rule::pole; }, negated},
    Mutation{"zero instead of invalid", [](const Special& s) { return s.rule == Rule::invalid; },
             [](Special) { return Special::zero(false); }},
};

template <class Function>
std::uint64_t mutated_bits(const Mutation& mutation, const FloatFormat& format, std::uint64_t bits, Context& context,
                           bool& applied) {
    const auto x = decode<std::uint64_t>(format, bits);
    if (x.kind == Kind::nan) return evaluate_bits<Function>(format, bits, context);
    const Special special = Function::special(x);
    if (special.rule == Rule::compute || !mutation.applies(special)) {
        return evaluate_bits<Function>(format, bits, context);
    }
    applied = true;
    return special_bits(format, mutation.change(special), context);
}

template <class Function>
void every_special_rule_is_tested(std::string_view name) {
    const CodesCheck check(name, formats::e5m2);
    for (const Mutation& mutation : mutations) {
        bool applied = false;
        const Mismatches found = check.run([&](const FloatFormat& format, std::uint64_t bits, Context& context) {
            return mutated_bits<Function>(mutation, format, bits, context, applied);
        });
        INFO(name, ", ", mutation.name);
        CHECK(applied == (found.count > 0));
    }
}

bool never_negative(std::string_view name) {
    return name == "exp" || name == "exp2" || name == "sigmoid" || name == "softplus" || name == "rsqrt";
}
/// Whether the results of a function tell two modes apart: some have no negative results, and only the exact results of
/// exp2 and log2 are ties.
bool differ(std::string_view name, Rounding a, Rounding b) {
    const auto are = [&](Rounding first, Rounding second) {
        return (a == first && b == second) || (a == second && b == first);
    };
    if (are(Rounding::nearest_even, Rounding::nearest_away)) return name == "exp2" || name == "log2";
    return !(never_negative(name) && are(Rounding::toward_zero, Rounding::down));
}

template <class Function>
void every_rounding_is_tested(std::string_view name) {
    const CodesCheck check(name, ieee_format(5, 3));
    for (const Rounding broken : deterministic_roundings) {
        for (const Rounding instead : deterministic_roundings) {
            if (broken == instead) continue;
            const Mismatches found = check.run([&](const FloatFormat& format, std::uint64_t bits, Context& context) {
                if (context.rounding == broken) context.rounding = instead;
                return evaluate_bits<Function>(format, bits, context);
            });
            INFO(name, ", ", name_of(instead), " instead of ", name_of(broken));
            CHECK((found.count > 0) == differ(name, broken, instead));
        }
    }
}

/// The function with something wrong in its computation.
template <class Function, class Change>
Mismatches check_changed(std::string_view name, const FloatFormat& format, Change change, std::size_t step = 1) {
    const auto changed = [&](const FloatFormat&, std::uint64_t bits, Context& context) {
        const auto x = decode<std::uint64_t>(format, bits);
        if (x.kind == Kind::nan || Function::special(x).rule != Rule::compute) {
            return evaluate_bits<Function>(format, bits, context);
        }
        return round_accurate(format, change(Function::accurate(ulp::Float127{x})), context);
    };
    return CodesCheck(name, format, step).run(changed);
}

template <class Function>
void errors_are_seen(std::string_view name) {
    const auto lost_below_64_bits = [](ulp::Float127 y) {
        return ulp::Float127{y.sign, y.exponent + 63, (y.significand + (UInt128{1} << 62)) >> 63};
    };
    const auto too_large_by_one_in_2_to_the_15 = [](ulp::Float127 y) { return y + scale(y, -15); };
    INFO(name);
    CHECK(check_changed<Function>(name, formats::fp16, too_large_by_one_in_2_to_the_15, 16).count > 0);
    CHECK(check_changed<Function>(name, formats::e4m3, [](ulp::Float127 y) { return -y; }).count > 0);
    // Functions with results right beside a number, on the side that a sticky bit alone does not show: 1 - e^-x.
    const bool below = name != "log" && name != "log2" && name != "softplus" && name != "rsqrt" && name != "cbrt";
    const FloatFormat wide_range = ieee_format(8, 3);
    CHECK((check_changed<Function>(name, wide_range, lost_below_64_bits).count > 0) == below);
}

template <class Function>
void all_mutants_are_caught(std::string_view name) {
    every_special_rule_is_tested<Function>(name);
    every_rounding_is_tested<Function>(name);
    errors_are_seen<Function>(name);
}

TEST_CASE("a broken special rule, rounding mode or last bit of any function is caught") {
#define ULPLAB_FUNCTION(name, Function) all_mutants_are_caught<functions::Function>(#name);
    ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION
}

/// All pairs of a small format, in every mode, against the judge `locate`.
template <class Locate, class Call>
Mismatches check_pairs(const FloatFormat& format, Locate locate, Call call) {
    const Oracle oracle(format);
    Mismatches found;
    for (const std::uint64_t a : all_codes(format)) {
        for (const std::uint64_t b : all_codes(format)) {
            check_modes(found, oracle, locate(oracle, a, b), {a, b},
                        [&](Context& context) { return call(format, a, b, context); });
        }
    }
    return found;
}
template <class Call>
Mismatches check_pow(Call call) {
    return check_pairs(ieee_format(3, 2), locate_pow, call);
}
template <class Call>
Mismatches check_hypot(Call call) {
    return check_pairs(ieee_format(4, 2), locate_hypot, call);
}

TEST_CASE("a broken rule of pow is caught: special results, exact results, NaN that does not matter, the sign") {
    CHECK(check_pow(pow_bits).count == 0);
    for (const Mutation& mutation : mutations) {
        const auto mutant = [&](const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
            const auto x = decode<std::uint64_t>(format, a);
            const auto y = decode<std::uint64_t>(format, b);
            if (x.kind == Kind::nan || y.kind == Kind::nan) return pow_bits(format, a, b, context);
            const Special special = functions::Pow::special(x, y);
            if (special.rule == Rule::compute || !mutation.applies(special)) return pow_bits(format, a, b, context);
            return special_bits(format, mutation.change(special), context);
        };
        INFO(mutation.name);
        CHECK(check_pow(mutant).count > 0);
    }
    const auto nan_always_wins = [](const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
        if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
        return pow_bits(format, a, b, context);
    };
    const auto signs_lost = [](const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
        return pow_bits(format, magnitude_of(format, a), b, context);
    };
    CHECK(check_pow(nan_always_wins).count > 0);
    CHECK(check_pow(signs_lost).count > 0);
}

TEST_CASE("a broken rule of hypot is caught: infinity beside NaN, zeros, signs, squares that leave the range, modes") {
    using F = const FloatFormat&;
    using Bits = std::uint64_t;
    CHECK(check_hypot(hypot_bits).count == 0);
    const auto nan_always_wins = [](F format, Bits a, Bits b, Context& context) {
        if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
        return hypot_bits(format, a, b, context);
    };
    const auto infinity_hides_signaling_nan = [](F format, Bits a, Bits b, Context& context) {
        if (is_infinity(format, a) || is_infinity(format, b)) return infinity_bits(format, false);
        return hypot_bits(format, a, b, context);
    };
    const auto infinity_keeps_its_sign = [](F format, Bits a, Bits b, Context& context) {
        return is_infinity(format, a) && !is_nan(format, b) ? a : hypot_bits(format, a, b, context);
    };
    const auto beside_zero_keeps_its_sign = [](F format, Bits a, Bits b, Context& context) {
        return magnitude_of(format, b) == 0 && !is_nan(format, a) ? a : hypot_bits(format, a, b, context);
    };
    const auto squares_in_the_format = [](F format, Bits a, Bits b, Context& context) {
        const Bits sum = fma_bits<Bits>(format, a, a, multiply_bits<Bits>(format, b, b, context), context);
        return sqrt_bits<Bits>(format, sum, context);
    };
    const auto small_operand_lost = [](F format, Bits a, Bits b, Context& context) {
        const auto x = decode<Bits>(format, a);
        const auto y = decode<Bits>(format, b);
        if (x.kind != Kind::finite || y.kind != Kind::finite) return hypot_bits(format, a, b, context);
        const int gap = x.exponent + bit_length(x.significand) - y.exponent - bit_length(y.significand);
        return hypot_bits(format, a, gap > format.precision() + 2 ? 0 : b, context);
    };
    CHECK(check_hypot(nan_always_wins).count > 0);
    CHECK(check_hypot(infinity_hides_signaling_nan).count > 0);
    CHECK(check_hypot(infinity_keeps_its_sign).count > 0);
    CHECK(check_hypot(beside_zero_keeps_its_sign).count > 0);
    CHECK(check_hypot(squares_in_the_format).count > 0);
    CHECK(check_hypot(small_operand_lost).count > 0);
    for (const Rounding broken : deterministic_roundings) {
        for (const Rounding instead : deterministic_roundings) {
            const auto mutant = [&](F format, Bits a, Bits b, Context& context) {
                if (context.rounding == broken) context.rounding = instead;
                return hypot_bits(format, a, b, context);
            };
            // A length is positive: down is toward zero.
            const auto inward = [](Rounding x) { return x == Rounding::down || x == Rounding::toward_zero; };
            const bool same = broken == instead || (inward(broken) && inward(instead));
            INFO("hypot, ", name_of(instead), " instead of ", name_of(broken));
            CHECK((check_hypot(mutant).count > 0) == !same);
        }
    }
}

}  // namespace
}  // namespace ulp::test
