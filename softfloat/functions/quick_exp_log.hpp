// Exponential and logarithm in double: the quick first phase. Only + - * / and bits, no libm, so they are constexpr and
// the same everywhere; and it would not matter if they were not, for a result is taken from here only where every value
// within the relative error 2^-40 rounds alike (evaluate.hpp). Measured errors are below 2^-45.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ulp::quick_phase {

/// c[0] + c[1] x + c[2] x^2 + ..., even and odd terms apart to halve the chain of dependent operations.
template <std::size_t N>
constexpr double polynomial(double x, const double (&c)[N]) {
    const double x2 = x * x;
    double even = c[(N - 1) / 2 * 2];
    double odd = c[N / 2 * 2 - 1];
    for (std::size_t i = (N - 1) / 2 * 2; i >= 2; i -= 2) even = even * x2 + c[i - 2];
    for (std::size_t i = N / 2 * 2 - 1; i >= 2; i -= 2) odd = odd * x2 + c[i - 2];
    return even + x * odd;
}

/// 2^k for -1022 <= k <= 1023.
constexpr double power_of_two(std::int64_t k) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

/// The nearest integer to x, |x| < 2^51: adding 1.5 * 2^52 leaves it in the low bits of the significand.
struct Nearest {
    double value;
    std::int64_t integer;
};
constexpr Nearest nearest(double x) {
    constexpr double shift = 0x1.8p52;
    const double shifted = x + shift;
    return {shifted - shift, std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(shift)};
}

/// e^r - 1 for |r| <= 0.35: Taylor, relative error 0.35^11 / 12! < 2^-45.
constexpr double expm1_core(double r) {
    constexpr double c[] = {1.0,        1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,     1.0 / 720,
                            1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800};
    return r * polynomial(r, c);
}

/// e^x = scale * (1 + rest), |x| <= 700.
struct ExpParts {
    double scale;
    double rest;
};
constexpr ExpParts exp_parts(double x) {
    constexpr double log2e = 0x1.71547652b82fep+0;
    constexpr double ln2_high = 0x1.62e42feep-1;  // 32 bits: its product with an integer below 2^20 is exact
    constexpr double ln2_low = 0x1.a39ef35793c76p-33;
    const Nearest k = nearest(x * log2e);
    return {power_of_two(k.integer), expm1_core((x - k.value * ln2_high) - k.value * ln2_low)};
}
/// Beyond +-700 every format within fp32's range has long overflowed or underflowed.
constexpr double clamp_exp(double x) { return x > 700 ? 700 : (x < -700 ? -700 : x); }

constexpr double exp(double x) {
    const auto [scale, rest] = exp_parts(clamp_exp(x));
    return scale + scale * rest;
}
constexpr double expm1(double x) {
    const auto [scale, rest] = exp_parts(clamp_exp(x));
    return (scale - 1) + scale * rest;
}
constexpr double exp2(double x) {
    const Nearest k = nearest(x > 1000 ? 1000 : (x < -1000 ? -1000 : x));
    const double scale = power_of_two(k.integer);
    const double fraction = x > 1000 || x < -1000 ? 0 : x - k.value;
    return scale + scale * expm1_core(fraction * 0x1.62e42fefa39efp-1);
}

/// tanh(x) = (e^2x - 1) / (e^2x + 1).
constexpr double tanh(double x) {
    const double e = expm1(x < 0 ? -2 * x : 2 * x);
    return (x < 0 ? -e : e) / (e + 2);
}

/// 1 / (1 + e^-x) = e^x / (1 + e^x): the form whose exponential is at most 1.
constexpr double sigmoid(double x) {
    const double e = exp(x < 0 ? x : -x);
    return (x < 0 ? e : 1) / (1 + e);
}

/// log(1 + u) = 2 atanh(s), s = u / (2 + u), for sqrt(1/2) <= 1 + u <= sqrt(2), where s^2 < 0.0295: relative error of
/// the cut series 0.0295^9 / 19 < 2^-49.
constexpr double log1p_core(double u) {
    constexpr double c[] = {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17};
    const double s = u / (2 + u);
    const double s2 = s * s;
    return 2 * s + s * s2 * polynomial(s2, c);
}

/// x = 2^k (1 + u) with sqrt(1/2) <= 1 + u < sqrt(2); x positive and normal.
struct LogParts {
    double k;
    double u;
};
constexpr LogParts log_parts(double x) {
    constexpr auto sqrt_half = std::bit_cast<std::int64_t>(0x1.6a09e667f3bcdp-1);
    const auto bits = std::bit_cast<std::int64_t>(x);
    const std::int64_t k = (bits - sqrt_half) >> 52;
    return {static_cast<double>(k), std::bit_cast<double>(bits - k * (std::int64_t{1} << 52)) - 1};
}
constexpr double log(double x) {
    const auto [k, u] = log_parts(x);
    return k * 0x1.62e42fefa39efp-1 + log1p_core(u);
}
constexpr double log2(double x) {
    const auto [k, u] = log_parts(x);
    return k + log1p_core(u) * 0x1.71547652b82fep+0;
}
/// x > -1. The sum 1 + x is taken only where its rounding is small beside the result.
constexpr double log1p(double x) { return x > -0.25 && x < 0.375 ? log1p_core(x) : log(1 + x); }

/// log(1 + e^x).
constexpr double softplus(double x) {
    const double rest = log1p(exp(x < 0 ? x : -x));
    return x < 0 ? rest : x + rest;
}

}  // namespace ulp::quick_phase
