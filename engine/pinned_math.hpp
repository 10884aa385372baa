// exp, log, tanh and their kin with the same bits on every machine: written polynomials in double, no libm, no fused
// multiply-add (the build forbids contraction), no table.
//
// The double versions are accurate to a few units in the last place (pinned_test states the largest errors found), so
// the fp32 versions, which round them once, err by less than 0.5000001 ulp.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace ulp::pinned {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr double ln2 = 0x1.62e42fefa39efp-1;

/// x to the nearest integer, ties to even, for |x| < 2^51: the addition pushes the fraction out of the word.
constexpr double nearest_integer(double x) { return (x + 0x1.8p52) - 0x1.8p52; }
/// 2^n for -1022 <= n <= 1023.
constexpr double power_of_two(int n) { return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52); }

/// e^r - 1 for |r| <= 0.35: the Taylor series, whose first dropped term r^15/15! is below 2^-61 r.
constexpr double expm1_series(double r) {
    double sum = 1.0 / 87178291200.0;  // 1/14!
    constexpr double factorials[] = {6227020800.0, 479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0,
                                     5040.0,       720.0,       120.0,      24.0,      6.0,      2.0};
    for (const double f : factorials) sum = sum * r + 1.0 / f;
    return r + r * r * sum;
}

/// e^x = 2^k e^r with r = x - k ln 2; k ln 2 in two parts, the first exact for every k that occurs.
constexpr double exp(double x) {
    if (x != x) return not_a_number;
    if (x > 709.79) return infinity;
    if (x < -745.2) return 0.0;
    const double k = nearest_integer(x * (1 / ln2));
    const double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    const int n = static_cast<int>(k);
    const int half = n / 2;  // in two steps, for results that are subnormal or near the top
    return (1 + expm1_series(r)) * power_of_two(half) * power_of_two(n - half);
}

/// e^x - 1, without cancellation near 0.
constexpr double expm1(double x) {
    if (x > -0.34 && x < 0.34) return expm1_series(x);
    return exp(x) - 1;
}

/// log((1 + s) / (1 - s)) for |s| < 0.172: 2 (s + s^3/3 + s^5/5 + ...), dropped terms below 2^-58 s.
constexpr double log_ratio(double s) {
    const double z = s * s;
    double sum = 0;
    for (int n = 23; n >= 3; n -= 2) sum = (sum + 1.0 / n) * z;
    return 2 * (s + s * sum);
}

/// Natural logarithm. x = 2^e m with m in [sqrt(1/2), sqrt(2)).
constexpr double log(double x) {
    if (x != x || x < 0) return not_a_number;
    if (x == 0) return -infinity;
    if (x == infinity) return infinity;
    int e = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        e = -54;
    }
    const auto bits = std::bit_cast<std::uint64_t>(x);
    e += static_cast<int>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        ++e;
    }
    return e * 0x1.62e42fee00000p-1 + (log_ratio((m - 1) / (m + 1)) + e * 0x1.a39ef35793c76p-33);
}

/// log(1 + x), without cancellation near 0.
constexpr double log1p(double x) {
    if (x > -0.25 && x < 0.4) return log_ratio(x / (2 + x));
    return log(1 + x);
}

constexpr double tanh(double x) {
    if (x != x) return not_a_number;
    const double magnitude = x < 0 ? -x : x;
    if (magnitude > 20) return x < 0 ? -1.0 : 1.0;
    const double e = expm1(-2 * magnitude);
    const double t = -e / (2 + e);
    return x < 0 ? -t : (x == 0 ? x : t);
}

/// 1 / (1 + e^-x).
constexpr double sigmoid(double x) {
    if (x >= 0) return 1 / (1 + exp(-x));
    const double e = exp(x);
    return e / (1 + e);
}

/// Error function: below 2.5 the series 2/sqrt(pi) e^(-x^2) sum 2^n x^(2n+1) / (1 3 5 .. (2n+1)), all terms positive;
/// above it the continued fraction of the complement.
constexpr double erf(double x) {
    if (x != x) return not_a_number;
    constexpr double two_over_root_pi = 0x1.20dd750429b6dp+0;
    const double a = x < 0 ? -x : x;
    if (a > 6) return x < 0 ? -1.0 : 1.0;
    double result = 0;
    if (a < 2.5) {
        double term = a;
        double sum = a;
        for (int n = 1; n < 60; ++n) {
            term *= 2 * a * a / (2 * n + 1);
            sum += term;
        }
        result = two_over_root_pi * exp(-a * a) * sum;
    } else {
        double fraction = a;  // a + (1/2)/(a + (2/2)/(a + (3/2)/(a + ...)))
        for (int n = 60; n >= 1; --n) fraction = a + (n * 0.5) / fraction;
        result = 1 - 0.5 * two_over_root_pi * exp(-a * a) / fraction;
    }
    return x < 0 ? -result : result;
}

/// Square root by Newton's method from an exponent guess; constexpr, for quantiles only (arithmetic uses the
/// processor's, which IEEE 754 fixes). x > 0, normal.
constexpr double square_root(double x) {
    double guess = std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) >> 1) + 0x1FF8000000000000);
    for (int i = 0; i < 6; ++i) guess = 0.5 * (guess + x / guess);
    return guess;
}

/// Inverse of the standard normal distribution function (Wichura, algorithm AS 241, Applied Statistics 37, 1988):
/// relative error about 1e-16. 0 < p < 1.
constexpr double normal_quantile(double p) {
    const auto ratio = [](double r, const double(&a)[8], const double(&b)[8]) {
        double above = a[7];
        double below = b[7];
        for (int i = 6; i >= 0; --i) {
            above = above * r + a[i];
            below = below * r + b[i];
        }
        return above / below;
    };
    constexpr double a[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                             1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                             3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr double b[8] = {1.0,
                             4.2313330701600911252e+1,
                             6.8718700749205790830e+2,
                             5.3941960214247511077e+3,
                             2.1213794301586595867e+4,
                             3.9307895800092710610e+4,
                             2.8729085735721942674e+4,
                             5.2264952788528545610e+3};
    constexpr double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                             3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double d[8] = {1.0,
                             2.05319162663775882187e0,
                             1.67638483018380384940e0,
                             6.89767334985100004550e-1,
                             1.48103976427480074590e-1,
                             1.51986665636164571966e-2,
                             5.47593808499534494600e-4,
                             1.05075007164441684324e-9};
    constexpr double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                             2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                             2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr double f[8] = {1.0,
                             5.99832206555887937690e-1,
                             1.36929880922735805310e-1,
                             1.48753612908506148525e-2,
                             7.86869131145613259100e-4,
                             1.84631831751005468180e-5,
                             1.42151175831644588870e-7,
                             2.04426310338993978564e-15};
    const double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425) return q * ratio(0.180625 - q * q, a, b);
    const double r = square_root(-log(q < 0 ? p : 1 - p));
    const double value = r <= 5 ? ratio(r - 1.6, c, d) : ratio(r - 5, e, f);
    return q < 0 ? -value : value;
}

static_assert(exp(0.0) == 1.0 && log(1.0) == 0.0 && tanh(0.0) == 0.0 && exp(-infinity) == 0.0);
static_assert(static_cast<float>(exp(1.0)) == 2.7182817F && normal_quantile(0.5) == 0.0);

}  // namespace ulp::pinned
