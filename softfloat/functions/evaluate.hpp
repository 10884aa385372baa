// How a function of one operand is computed in a format, once for all functions:
//
//   special operands and exact results    by the function's own table
//   quick phase                           in double; taken where all values within its error bound round to the same
//                                         result, and where the processor has its default arithmetic
//   accurate phase                        127 bits, where the quick one cannot decide
//
// A Function is a struct with
//   static Special special(const Unpacked<std::uint64_t>& x)   every x whose result is not an irrational number
//   static Real quick(Real x)                                  relative error below 2^-40, x in fp32's range; zero for
//                                                              x = 0 only if the result is a zero of x's sign
//   static Float127 accurate(const Float127& x)                relative error below 2^-100
//   static Domain fp32_domain()                                fp32 operands whose result is finite in fp32 and for
//                                                              which quick(x) rounds to the result's float or is
//                                                              undecided
//   static Ends ends()                                         where the results need no computing; for arrays
//
// The result is the correctly rounded one unless the true value lies within 2^-100 of a boundary between two results.
// For precisions up to 24 none does: the hardest-to-round case among 2^32 operands is expected about 2^-24 / 2^32 =
// 2^-56 from a boundary (Table Maker's Dilemma), and the tests look at all operands (tests/softfloat/functions).
#pragma once

#include <bit>
#include <stdexcept>

#include "softfloat/functions/float127.hpp"
#include "softfloat/support/processor_rounding.hpp"

namespace ulp {

/// What a function gives without computing.
struct Special {
    enum class Rule : std::uint8_t { compute, exact, invalid, pole };
    Rule rule = Rule::compute;
    Unpacked<std::uint64_t> value{Kind::zero, false, 0, 0};

    static constexpr Special none() { return {}; }
    static constexpr Special number(bool sign, int exponent, std::uint64_t significand) {
        return {Rule::exact, {significand == 0 ? Kind::zero : Kind::finite, sign, exponent, significand}};
    }
    static constexpr Special zero(bool sign) { return number(sign, 0, 0); }
    static constexpr Special infinity(bool sign) { return {Rule::exact, {Kind::infinity, sign, 0, 0}}; }
    /// The quiet NaN, with the invalid flag.
    static constexpr Special invalid() { return {Rule::invalid, {}}; }
    /// An infinity from a finite operand, with the flag divide_by_zero.
    static constexpr Special pole(bool sign) { return {Rule::pole, {Kind::infinity, sign, 0, 0}}; }
};

constexpr std::uint64_t special_bits(const FloatFormat& format, const Special& special, Context& context) {
    const auto& value = special.value;
    if (special.rule == Special::Rule::invalid) return invalid_bits(format, context);
    if (special.rule == Special::Rule::pole) context.flags |= flag::divide_by_zero;
    if (value.kind == Kind::infinity) return infinite_bits(format, value.sign, context);
    return round_to_bits(format, value.sign, value.exponent, value.significand, context);
}

/// The relative error that the quick phases promise: 2^-this (round_quick_fp32 spells it out as 0x1p-40).
inline constexpr int quick_error_bits = 40;

/// Formats whose finite numbers are fp32 numbers: the operands the quick phases are made for.
constexpr bool within_fp32(const FloatFormat& format) {
    return format.precision() <= 24 && format.emax() <= 127 && format.smallest_exponent() >= -149;
}

/// The functions are defined for precisions up to 24.
constexpr void require_supported(const FloatFormat& format) {
#ifndef __CUDA_ARCH__
    if (format.precision() > 24) throw std::invalid_argument("functions are defined for precisions of up to 24 bits");
#else
    static_cast<void>(format);
#endif
}

/// The ends of y's error interval, as significands; y itself is not finite, or a zero, where is_finite is false.
struct QuickInterval {
    bool is_finite, sign;
    int exponent;
    std::uint64_t below, above;
    constexpr explicit QuickInterval(double y) {
        const auto value = decode<std::uint64_t>(formats::fp64, std::bit_cast<std::uint64_t>(y));
        const int up = 63 - bit_length(value.significand);
        const std::uint64_t significand = value.significand << up;
        constexpr std::uint64_t margin = std::uint64_t{1} << (63 - quick_error_bits);
        is_finite = value.kind == Kind::finite;
        sign = value.sign;
        exponent = value.exponent - up;
        below = (significand - margin) | 1;
        above = (significand + margin) | 1;
    }
};

struct Decision {
    bool decided;
    std::uint64_t bits;
};
/// Rounds y if every number within its error bound rounds to the same result, flags included:
///
///     ---|-------------------|---          results' boundaries
///              (---y---)                    decided
constexpr Decision round_quick(const FloatFormat& format, double y, Context& context) {
    const QuickInterval interval(y);
    if (!interval.is_finite) return {false, 0};
    Context low = context;
    Context high = context;
    const std::uint64_t below = round_to_bits(format, interval.sign, interval.exponent, interval.below, low);
    const std::uint64_t above = round_to_bits(format, interval.sign, interval.exponent, interval.above, high);
    if (below != above || low.flags != high.flags) return {false, 0};
    context.flags = low.flags;
    return {true, below};
}

/// An irrational number: one more bit below the last says that it is not exact.
constexpr std::uint64_t round_accurate(const FloatFormat& format, const Float127& y, Context& context) {
    return round_to_bits(format, y.sign, y.exponent - 1, static_cast<UInt128>(y.significand << 1 | 1), context);
}

/// Exact: at most 24 significant bits in fp32's range.
constexpr double to_double(const Unpacked<std::uint64_t>& x) {
    const double magnitude = static_cast<double>(static_cast<std::int64_t>(x.significand)) *
                             std::bit_cast<double>(static_cast<std::uint64_t>(x.exponent + 1023) << 52);
    return x.sign ? -magnitude : magnitude;
}

template <class Function>
constexpr std::uint64_t evaluate_bits(const FloatFormat& format, std::uint64_t bits, Context& context) {
    require_supported(format);
    if (is_nan(format, bits)) return propagate_nan(format, bits, bits, context);
    const auto x = operand<std::uint64_t>(format, bits, context);
    const Special special = Function::special(x);
    if (special.rule != Special::Rule::compute) return special_bits(format, special, context);
    if (within_fp32(format) && support::has_default_arithmetic()) {
        const Decision quick = round_quick(format, Function::quick(to_double(x)), context);
        if (quick.decided) return quick.bits;
    }
    return round_accurate(format, Function::accurate(Float127{x}), context);
}

/// The accurate phase alone: the plain twin of evaluate_bits.
template <class Function>
constexpr std::uint64_t evaluate_bits_accurately(const FloatFormat& format, std::uint64_t bits, Context& context) {
    require_supported(format);
    if (is_nan(format, bits)) return propagate_nan(format, bits, bits, context);
    const auto x = operand<std::uint64_t>(format, bits, context);
    const Special special = Function::special(x);
    if (special.rule != Special::Rule::compute) return special_bits(format, special, context);
    return round_accurate(format, Function::accurate(Float127{x}), context);
}

/// What stochastic rounding makes of a function's result: `up` where the random number and `fraction` add up to
/// 2^random_bits or more, else `down`.
struct Chance {
    std::uint64_t down, up, fraction;
    constexpr bool operator==(const Chance&) const = default;
};

/// The first random_bits bits of a number below the place where round_to_bits cuts it; those that decide whether it is
/// tiny where that may be flushed. `exponent` is of the significand's last bit.
template <class Word>
constexpr std::uint64_t fraction_of(const FloatFormat& format, int exponent, Word significand, const Context& context) {
    const int leading = exponent + bit_length(significand) - 1;
    const int emin = format.emin();
    const bool may_be_tiny =
        context.flush_outputs && context.tininess == Tininess::after_rounding && leading == emin - 1;
    const int cut = (leading > emin ? leading : emin) - format.fraction_bits - exponent - (may_be_tiny ? 1 : 0);
    return split_at(significand, cut, context.random_bits).discarded.top_bits;
}

/// For tables of stochastic results; context.random does not matter.
template <class Function>
constexpr Chance evaluate_chance(const FloatFormat& format, std::uint64_t bits, const Context& context) {
    Context least = context;
    Context most = context;
    least.random = 0;
    most.random = (std::uint64_t{1} << context.random_bits) - 1;
    Chance chance{evaluate_bits<Function>(format, bits, least), evaluate_bits<Function>(format, bits, most), 0};
    if (chance.down == chance.up) return chance;
    const auto x = operand<std::uint64_t>(format, bits, context);
    const Special special = Function::special(x);
    if (special.rule != Special::Rule::compute) {
        chance.fraction = fraction_of(format, special.value.exponent, special.value.significand, context);
        return chance;
    }
    if (within_fp32(format) && support::has_default_arithmetic()) {
        const QuickInterval y(Function::quick(to_double(x)));
        if (y.is_finite) chance.fraction = fraction_of(format, y.exponent, y.below, context);
        if (y.is_finite && chance.fraction == fraction_of(format, y.exponent, y.above, context)) return chance;
    }
    const Float127 y = Function::accurate(Float127{x});
    chance.fraction = fraction_of(format, y.exponent - 1, static_cast<UInt128>(y.significand << 1 | 1), context);
    return chance;
}

/// The rounding test for fp32 and nearest even: both ends of y's error interval rounded by the hardware's conversion.
struct QuickFloat {
    bool decided;
    float value;
};
constexpr QuickFloat round_quick_fp32(double y) {
    const double error = y * 0x1p-40;
    const auto below = static_cast<float>(y - error);
    const auto above = static_cast<float>(y + error);
    return {below == above, above};
}

/// The function of an fp32 number, rounded to nearest even: equal to evaluate_bits<Function>(fp32, ...), and quick.
template <class Function>
constexpr float evaluate_fp32(float x) {
    if (support::has_default_arithmetic() && Function::fp32_domain().contains(x)) {
        const double y = Function::quick(static_cast<double>(x));
        if (x == 0 && y == 0) return x;  // of its sign
        const QuickFloat quick = round_quick_fp32(y);
        if (quick.decided) return quick.value;
    }
    Context context;
    const std::uint64_t bits = evaluate_bits<Function>(formats::fp32, std::bit_cast<std::uint32_t>(x), context);
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

}  // namespace ulp
