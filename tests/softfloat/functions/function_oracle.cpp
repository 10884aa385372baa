#include "tests/softfloat/functions/function_oracle.hpp"

#include <array>
#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "tests/softfloat/functions/known_results.hpp"

namespace ulp::test {

namespace {

using Big = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<800, boost::multiprecision::digit_base_2, void, std::int32_t>,
    boost::multiprecision::et_off>;

/// The alternating series, 2/sqrt(pi) sum of (-1)^n x^(2n+1) / (n! (2n+1)). |x| <= 10.3: the terms stay below 2^154.
Big big_erf(const Big& x) {
    const Big x2 = x * x;
    Big power = x;  // x^(2n+1) / n!
    Big sum = x;
    for (int n = 1; abs(power) > Big(std::ldexp(1.0, -800)) * abs(x) || n < 8; ++n) {
        power *= -x2 / n;
        sum += power / (2 * n + 1);
    }
    return 2 * sum / sqrt(boost::math::constants::pi<Big>());
}
Big big_gelu(const Big& x) {
    if (x < -15) throw std::logic_error("gelu is judged in 800 bits down to -15 only");
    return x * (1 + big_erf(x / sqrt(Big(2)))) / 2;
}
Big big_tanh(const Big& x) {
    const Big e = exp(2 * x);
    return (e - 1) / (e + 1);
}
/// Far to the left log(1 + e^x) = e^x - e^2x/2 + ...: 1 + e^x would lose it all.
Big big_softplus(const Big& x) {
    const Big e = exp(x);
    return x < -300 ? Big(e - e * e / 2) : Big(log(1 + e));
}
Big big_cbrt(const Big& x) {
    const Big magnitude = exp(log(abs(x)) / 3);
    return x < 0 ? -magnitude : magnitude;
}
template <typename T>
T quick_sigmoid(T x) {
    const T e = std::exp(-std::abs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
template <typename T>
T quick_gelu(T x) {
    return x / 2 * std::erfc(-x / std::sqrt(T{2}));
}
template <typename T>
T quick_softplus(T x) {
    return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x)));
}
template <typename T>
T quick_rsqrt(T x) {
    return 1 / std::sqrt(x);
}

}  // namespace

struct FunctionRow {
    std::string_view name;
    Known (*known)(double);
    double (*in_fp64)(double);
    long double (*quick)(long double);
    Big (*big)(const Big&);
    int quick_error_bits = 10;  // quick is right within 2^this units of its last place
};

namespace {

using Double = double (*)(double);
using LongDouble = long double (*)(long double);
const std::array rows{
    FunctionRow{"exp", known_exp, Double{std::exp}, LongDouble{std::exp}, [](const Big& x) { return Big(exp(x)); }},
    FunctionRow{"exp2", known_exp, Double{std::exp2}, LongDouble{std::exp2},
                [](const Big& x) { return Big(exp(x * boost::math::constants::ln_two<Big>())); }},
    FunctionRow{"expm1", known_expm1, Double{std::expm1}, LongDouble{std::expm1},
                [](const Big& x) { return Big(exp(x) - 1); }},
    FunctionRow{"log", known_log, Double{std::log}, LongDouble{std::log}, [](const Big& x) { return Big(log(x)); }},
    FunctionRow{"log2", known_log, Double{std::log2}, LongDouble{std::log2},
                [](const Big& x) { return Big(log(x) / boost::math::constants::ln_two<Big>()); }},
    FunctionRow{"log1p", known_log1p, Double{std::log1p}, LongDouble{std::log1p},
                [](const Big& x) { return Big(log(1 + x)); }},
    FunctionRow{"sin", known_sin, Double{std::sin}, LongDouble{std::sin}, [](const Big& x) { return Big(sin(x)); }},
    FunctionRow{"cos", known_cos, Double{std::cos}, LongDouble{std::cos}, [](const Big& x) { return Big(cos(x)); }},
    FunctionRow{"tanh", known_tanh, Double{std::tanh}, LongDouble{std::tanh}, big_tanh},
    FunctionRow{"sigmoid", known_sigmoid, quick_sigmoid<double>, quick_sigmoid<long double>,
                [](const Big& x) { return Big(1 / (1 + exp(-x))); }},
    FunctionRow{"erf", known_erf, Double{std::erf}, LongDouble{std::erf}, big_erf},
    // The rounding of x / sqrt(2) is multiplied by x^2: up to 2^14 where the result underflows fp64.
    FunctionRow{"gelu", known_gelu, quick_gelu<double>, quick_gelu<long double>, big_gelu, 14},
    FunctionRow{"softplus", known_softplus, quick_softplus<double>, quick_softplus<long double>, big_softplus},
    FunctionRow{"rsqrt", known_rsqrt, quick_rsqrt<double>, quick_rsqrt<long double>,
                [](const Big& x) { return Big(1 / sqrt(x)); }},
    FunctionRow{"cbrt", known_cbrt, Double{std::cbrt}, LongDouble{std::cbrt}, big_cbrt},
};

/// Exact: tests run formats of up to 24 bits of precision and within fp64's range.
double to_double(const Number& x) {
    if (x.kind == Number::Kind::infinity) {
        return x.negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    }
    const double magnitude = std::ldexp(static_cast<double>(x.significand), x.exponent);
    return x.negative ? -magnitude : magnitude;
}

/// A number of up to 53 bits, or the place right beside it: 8 more bits, of which the last is off by one.
Number to_number(double value, int side) {
    int exponent = 0;
    const double fraction = std::frexp(std::abs(value), &exponent);
    const auto significand = static_cast<std::int64_t>(std::ldexp(fraction, 61)) + side;
    return {Number::Kind::finite, std::signbit(value), significand, exponent - 61};
}

/// Stands for everything smaller: below half of every format's smallest number, and yet a double, from which the judge
/// of the arithmetic starts its search.
Number smallest(bool negative) { return {Number::Kind::finite, negative, 1, -1074}; }

Located to_located(const Oracle& format, const Known& known, int fraction_bits) {
    const bool negative = std::signbit(known.value);
    switch (known.kind) {
        case Known::Kind::number: return format.located(to_number(known.value, 0), fraction_bits);
        case Known::Kind::beside: return format.located(to_number(known.value, known.outward ? 1 : -1), fraction_bits);
        case Known::Kind::huge: return format.located({Number::Kind::finite, negative, 1, 20000}, fraction_bits);
        case Known::Kind::tiny: return format.located(smallest(negative), fraction_bits);
        case Known::Kind::infinity: return {.kind = Located::Kind::infinity, .negative = negative};
        case Known::Kind::pole:
            return {.kind = Located::Kind::infinity, .negative = negative, .flags = flag::divide_by_zero};
        case Known::Kind::invalid: return {.kind = Located::Kind::nan, .flags = flag::invalid};
        case Known::Kind::nothing: break;
    }
    throw std::logic_error("nothing is known about this result");
}

/// The first 62 bits of a value that is not a number of so few bits; the last of them set.
struct Rounded {
    bool decided;
    Number number;
};

/// Undecided where the value, give or take its error, may lie on a boundary: a number of precision + 9 bits, which
/// covers the format's numbers, the midpoints and the 8 bits of stochastic rounding.
Rounded from_long_double(long double value, int precision, int error_bits) {
    static_assert(std::numeric_limits<long double>::digits >= 64,
                  "the judge needs 64 bits, which x87's long double has");
    int exponent = 0;
    const long double fraction = std::frexp(std::abs(value), &exponent);
    const auto bits = static_cast<std::uint64_t>(std::ldexp(fraction, 64));
    const int below = 64 - (precision + 9);
    const std::uint64_t rest = bits & ((std::uint64_t{1} << below) - 1);
    const std::uint64_t margin = std::uint64_t{1} << error_bits;
    const bool decided = rest > margin && rest < (std::uint64_t{1} << below) - margin;
    if (exponent < -1074) return {true, smallest(value < 0)};
    return {decided, {Number::Kind::finite, value < 0, static_cast<std::int64_t>(bits >> 2 | 1), exponent - 62}};
}

/// Whether all that lies within 2^16 units of fp64's last place rounds to the same fp32: the C library's functions and
/// the formulas made of them keep far within that. The lowest 28 of fp64's bits lie below fp32's midpoints.
bool decided_in_fp64(double value) {
    constexpr std::uint64_t margin = std::uint64_t{1} << FunctionOracle::fp64_error_bits;
    constexpr std::uint64_t below = std::uint64_t{1} << 28;
    const std::uint64_t rest = std::bit_cast<std::uint64_t>(value) & (below - 1);
    return std::abs(value) > 0x1p-160 && rest > margin && rest < below - margin;
}

/// Exact where the value is within 2^-400 of a number of 62 bits: no other result comes so close.
Number from_big(const Big& value) {
    int exponent = 0;
    const Big scaled = ldexp(frexp(abs(value), &exponent), 62);
    if (exponent < -1074) return smallest(value < 0);
    const Big whole = round(scaled);
    if (abs(scaled - whole) < ldexp(Big(1), -400)) {
        return {Number::Kind::finite, value < 0, whole.convert_to<std::int64_t>(), exponent - 62};
    }
    const auto truncated = floor(scaled).convert_to<std::int64_t>();
    return {Number::Kind::finite, value < 0, truncated | 1, exponent - 62};
}

Located nan_operand(bool signaling) { return {.kind = Located::Kind::nan, .flags = signaling ? flag::invalid : 0}; }

}  // namespace

FunctionOracle::FunctionOracle(std::string_view name) : row_(nullptr) {
    for (const FunctionRow& row : rows) {
        if (row.name == name) row_ = &row;
    }
    if (row_ == nullptr) throw std::invalid_argument("no judge for the function " + std::string(name));
}

Located FunctionOracle::locate(const Oracle& format, std::uint64_t bits, int fraction_bits) const {
    const Number operand = format.number(bits);
    if (operand.is_nan()) return nan_operand(operand.kind == Number::Kind::signaling_nan);
    const double x = to_double(operand);
    const Known known = row_->known(x);
    if (known.kind != Known::Kind::nothing) return to_located(format, known, fraction_bits);
    const auto [decided, number] =
        from_long_double(row_->quick(x), format.format().precision(), row_->quick_error_bits);
    if (decided) return format.located(number, fraction_bits);
    return format.located(from_big(row_->big(Big(x))), fraction_bits);
}

float FunctionOracle::nearest_float(float x) const {
    if (!std::isnan(x)) {
        const Known known = row_->known(x);
        const auto sign = std::signbit(known.value) ? -1.0F : 1.0F;
        switch (known.kind) {
            case Known::Kind::number:
            case Known::Kind::beside:
                if (const auto rounded = static_cast<float>(known.value); rounded == known.value) return rounded;
                break;
            case Known::Kind::tiny: return sign * 0.0F;
            case Known::Kind::huge:
            case Known::Kind::infinity:
            case Known::Kind::pole: return sign * std::numeric_limits<float>::infinity();
            case Known::Kind::nothing:
            case Known::Kind::invalid: break;
        }
        if (known.kind == Known::Kind::nothing) {
            const double quickest = row_->in_fp64(x);
            if (decided_in_fp64(quickest)) return static_cast<float>(quickest);
            if (std::abs(quickest) < 0x1p-160) return std::copysign(0.0F, static_cast<float>(quickest));  // underflow
            const long double y = row_->quick(x);
            if (from_long_double(y, 24, row_->quick_error_bits).decided) return static_cast<float>(y);
        }
    }
    static const Oracle fp32(formats::fp32);
    const Located place = locate(fp32, std::bit_cast<std::uint32_t>(x));
    return std::bit_cast<float>(static_cast<std::uint32_t>(fp32.round(place, Rounding::nearest_even).bits));
}

bool FunctionOracle::known_by_rule(double x) const { return row_->known(x).kind != Known::Kind::nothing; }

double FunctionOracle::quick_error(double x) const {
    if (known_by_rule(x)) return 0;
    const Big exact = row_->big(Big(x));
    return std::ldexp(abs(Big(row_->quick(x)) / exact - 1).convert_to<double>(), 64);
}

double FunctionOracle::fp64_error(float x) const {
    if (known_by_rule(x)) return 0;
    const double y = row_->in_fp64(x);
    const long double exact = row_->quick(x);
    if (std::abs(y) <= 0x1p-160 || std::isinf(y)) return 0;
    return static_cast<double>(std::ldexp(std::abs(y / exact - 1), 53));
}

double FunctionOracle::quick_relative_error(double x, double y) const {
    if (known_by_rule(x)) return 0;
    const long double exact = row_->quick(x);
    return exact == 0 ? std::abs(y) : static_cast<double>(y / exact - 1);
}

double FunctionOracle::relative_error(double x, const Approximation& y) const {
    if (known_by_rule(x)) return 0;
    const Big magnitude = ldexp(ldexp(Big(y.high), 64) + Big(y.low), y.exponent);
    const Big exact = row_->big(Big(x));
    return Big((y.negative ? Big(-magnitude) : magnitude) / exact - 1).convert_to<double>();
}

Located locate_pow(const Oracle& format, std::uint64_t a, std::uint64_t b) {
    const Number first = format.number(a);
    const Number second = format.number(b);
    if (first.kind == Number::Kind::signaling_nan || second.kind == Number::Kind::signaling_nan) {
        return nan_operand(true);
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double x = first.is_nan() ? nan : to_double(first);
    const double y = second.is_nan() ? nan : to_double(second);
    const bool computed = std::isfinite(x) && std::isfinite(y) && x != 0 && y != 0;
    if (!computed || (x < 0 && y != std::floor(y))) {  // the C library's table of special cases (annex F.10.4.4)
        const double special = std::pow(x, y);
        if (std::isnan(special)) return {.kind = Located::Kind::nan, .flags = computed ? flag::invalid : 0};
        if (!std::isinf(special)) return to_located(format, number(special), 0);
        return to_located(format, x == 0 && std::isfinite(y) ? pole(special) : infinity(special), 0);
    }
    const bool negative = x < 0 && std::fmod(y, 2) != 0;
    const double logarithm = y * std::log2(std::abs(x));
    if (std::abs(logarithm) > 15000) {
        Known known = logarithm < 0 ? tiny(1) : huge();
        if (negative) known.value = -known.value;
        return to_located(format, known, 0);
    }
    if (logarithm != 0 && std::abs(logarithm) < 0x1p-70) {
        const double one = negative ? -1 : 1;
        return to_located(format, logarithm < 0 ? inward_of(one) : outward_of(one), 0);
    }
    const auto [decided, power] = from_long_double(std::pow(static_cast<long double>(x), static_cast<long double>(y)),
                                                   format.format().precision(), 10);
    if (decided) return format.located(power, 0);
    const Big magnitude = exp(Big(y) * log(abs(Big(x))));
    return format.located(from_big(negative ? Big(-magnitude) : magnitude), 0);
}

Located locate_hypot(const Oracle& format, std::uint64_t a, std::uint64_t b) {
    const Number first = format.number(a);
    const Number second = format.number(b);
    const bool signaling = first.kind == Number::Kind::signaling_nan || second.kind == Number::Kind::signaling_nan;
    const bool infinite = first.kind == Number::Kind::infinity || second.kind == Number::Kind::infinity;
    if (signaling) return nan_operand(true);
    if (infinite) return to_located(format, infinity(1), 0);
    if (first.is_nan() || second.is_nan()) return nan_operand(false);
    const double large = std::max(std::abs(to_double(first)), std::abs(to_double(second)));
    const double small = std::min(std::abs(to_double(first)), std::abs(to_double(second)));
    if (small == 0) return to_located(format, number(large), 0);
    if (small < large * 0x1p-60) return to_located(format, outward_of(large), 0);
    const auto [decided, root] = from_long_double(
        std::hypot(static_cast<long double>(large), static_cast<long double>(small)), format.format().precision(), 10);
    if (decided) return format.located(root, 0);
    return format.located(from_big(sqrt(Big(large) * Big(large) + Big(small) * Big(small))), 0);
}

}  // namespace ulp::test
