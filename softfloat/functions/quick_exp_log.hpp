// Exponential and logarithm in double: the quick first phase. Only + - * / and bits, no libm, so they are constexpr and
// the same everywhere; and it would not matter if they were not, for a result is taken from here only where every value
// within the relative error 2^-40 rounds to the same value (evaluate.hpp). Measured errors are below 2^-45.
#pragma once

#include "softfloat/functions/quick_lanes.hpp"

namespace ulp::quick_phase {

/// e^r - 1 for |r| <= 0.0434: Taylor, relative error 0.0434^7 / 8! < 2^-46.
template <class Real>
constexpr Real expm1_core(Real r) {
    constexpr double c[] = {1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040};
    return r * polynomial(r, c);
}
/// 2^(k / 8) for |k| <= 8000, from a word with the lower bits of k.
template <class Real>
constexpr Real power_of_two_eighths(WordOf<Real> k) {
    constexpr double powers[8] = {0x1p+0,
                                  0x1.172b83c7d517bp+0,
                                  0x1.306fe0a31b715p+0,
                                  0x1.4bfdad5362a27p+0,
                                  0x1.6a09e667f3bcdp+0,
                                  0x1.8ace5422aa0dbp+0,
                                  0x1.ae89f995ad3adp+0,
                                  0x1.d5818dcfba487p+0};
    return real_of<Real>(word_of(look_up<Real>(k, powers)) + ((k >> 3) << 52));
}

/// e^x = scale * (1 + rest), |x| <= 700.
template <class Real>
struct ExpParts {
    Real scale;
    Real rest;
};
template <class Real>
constexpr ExpParts<Real> exp_parts(Real x) {
    constexpr double eight_log2e = 0x1.71547652b82fep+3;
    constexpr double ln2_high = 0x1.62e42feep-4;  // of ln(2) / 8; 32 bits: its product with an integer is exact
    constexpr double ln2_low = 0x1.a39ef35793c76p-36;
    const auto k = nearest(x, eight_log2e);
    return {power_of_two_eighths<Real>(k.low_bits),
            expm1_core(multiply_add(all<Real>(-ln2_low), k.value, multiply_add(all<Real>(-ln2_high), k.value, x)))};
}
/// Beyond +-700 every format within fp32's range has long overflowed or underflowed.
template <class Real>
constexpr Real clamp(Real x, double limit) {
    return at_most(at_least(x, -limit), limit);
}

template <class Real>
constexpr Real exp(Real x) {
    const auto [scale, rest] = exp_parts(clamp(x, 700));
    return multiply_add(scale, rest, scale);
}
template <class Real>
constexpr Real expm1(Real x) {
    const auto [scale, rest] = exp_parts(clamp(x, 700));
    return multiply_add(scale, rest, scale - 1);
}
template <class Real>
constexpr Real exp2(Real x) {
    const Real clamped = clamp(x, 1000);
    const auto k = nearest(clamped, 8);
    const Real scale = power_of_two_eighths<Real>(k.low_bits);
    return scale + scale * expm1_core((8 * clamped - k.value) * 0x1.62e42fefa39efp-4);
}

/// tanh(x) = (e^2x - 1) / (e^2x + 1).
template <class Real>
constexpr Real tanh(Real x) {
    const Real e = expm1(x < 0 ? -2 * x : 2 * x);
    return (x < 0 ? -e : e) / (e + 2);
}

/// 1 / (1 + e^-x) = e^x / (1 + e^x): the form whose exponential is at most 1.
template <class Real>
constexpr Real sigmoid(Real x) {
    const Real e = exp(x < 0 ? x : -x);
    return (x < 0 ? e : all<Real>(1)) / (1 + e);
}

/// log(1 + u) = 2 atanh(s), s = u / (2 + u), for sqrt(1/2) <= 1 + u <= sqrt(2), where s^2 < 0.0295: relative error of
/// the cut series 0.0295^9 / 19 < 2^-49.
template <class Real>
constexpr Real log1p_core(Real u) {
    constexpr double c[] = {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17};
    const Real s = u / (2 + u);
    const Real s2 = s * s;
    return multiply_add(s * s2, polynomial(s2, c), 2 * s);
}

/// x = 2^k (1 + u) with sqrt(1/2) <= 1 + u < sqrt(2); x positive and normal.
template <class Real>
struct LogParts {
    Real k;
    Real u;
};
template <class Real>
constexpr LogParts<Real> log_parts(Real x) {
    constexpr std::uint64_t sqrt_half = word_of(0x1.6a09e667f3bcdp-1);
    const WordOf<Real> word = word_of(x);
    const WordOf<Real> k = ((word - sqrt_half + (std::uint64_t{1024} << 52)) >> 52) - 1024;
    return {from_integer<Real>(k), real_of<Real>(word - (k << 52)) - 1};
}
template <class Real>
constexpr Real log(Real x) {
    const auto [k, u] = log_parts(x);
    return multiply_add(k, all<Real>(0x1.62e42fefa39efp-1), log1p_core(u));
}
template <class Real>
constexpr Real log2(Real x) {
    const auto [k, u] = log_parts(x);
    return k + log1p_core(u) * 0x1.71547652b82fep+0;
}
/// x > -1. The sum 1 + x is taken only where its rounding is small beside the result.
template <class Real>
constexpr Real log1p(Real x) {
    const auto near_zero = (x > -0.25) & (x < 0.375);
    const auto [k, u] = log_parts(1 + x);
    return (near_zero ? Real{} : k) * 0x1.62e42fefa39efp-1 + log1p_core(near_zero ? x : u);
}

/// log(1 + e^x).
template <class Real>
constexpr Real softplus(Real x) {
    const Real rest = log1p(exp(x < 0 ? x : -x));
    return x < 0 ? rest : x + rest;
}

}  // namespace ulp::quick_phase
