// The accurate error function, and what is made of it: gelu. Relative error below 2^-105.
#pragma once

#include "softfloat/functions/wide_exp_log.hpp"

namespace ulp::wide {

constexpr Wide one_over_sqrt_pi() { return Wide::constant(-127, 0x48375D410A6DB446, 0xB8EA453FB5FF61A2); }
constexpr Wide one_over_sqrt_2() { return Wide::constant(-127, 0x5A827999FCEF3242, 0x2CBEC4D9BAA55F50); }

/// Where the series gives way to the continued fraction: 1 - erf(2.5) loses 11 bits.
constexpr bool below_erf_split(const Wide& t) { return t < Wide(false, -1, 5); }

/// erf(t) = 2/sqrt(pi) e^(-t^2) sum of 2^n t^(2n+1) / (1 3 5 ... (2n+1)), for 0 <= t <= 2.5: no cancellation, as all
/// terms are positive (Abramowitz and Stegun 7.1.6).
constexpr Wide erf_series(const Wide& t) {
    const Wide twice_t2 = scale(t * t, 1);
    Wide term = t;
    Wide sum = t;
    for (std::uint64_t n = 3; term.leading() > sum.leading() - 128; n += 2) {
        term = divide(term * twice_t2, n);
        sum = sum + term;
    }
    return scale(sum * exp(-(t * t)) * one_over_sqrt_pi(), 1);
}

/// erfc(t) = e^(-t^2) / sqrt(pi) / (t + (1/2)/(t + (2/2)/(t + (3/2)/(t + ...)))) for t >= 2.5 (A. and S. 7.1.14). About
/// (120 ln 2)^2 / (8 t^2) levels give 120 bits.
constexpr Wide erfc_fraction(const Wide& t) {
    const Wide t2 = t * t;
    const int levels = 20 + (t2.leading() < 20 ? 900 / static_cast<int>(t2.significand >> -t2.exponent) : 0);
    Wide tail = t;
    for (int n = levels; n >= 1; --n) tail = t + scale(Wide{n}, -1) / tail;
    return exp(-t2) * one_over_sqrt_pi() / tail;
}

/// 1 - erf(t), t >= 0.
constexpr Wide erfc(const Wide& t) { return below_erf_split(t) ? Wide{1} - erf_series(t) : erfc_fraction(t); }

/// erfc(t) to be subtracted from 1: from 10 on it is below 2^-148, less than the last bit of a Wide, and any tiny
/// number gives the same jammed difference.
constexpr Wide erfc_beside_one(const Wide& t) { return t < Wide{10} ? erfc(t) : Wide{false, -148, 1}; }

constexpr Wide erf(const Wide& x) {
    const Wide t = abs(x);
    const Wide magnitude = below_erf_split(t) ? erf_series(t) : Wide{1} - erfc_beside_one(t);
    return x.sign ? -magnitude : magnitude;
}

/// x Phi(x) = x/2 erfc(-x/sqrt(2)), as a sum where the result comes close to x/2 or to x.
constexpr Wide gelu(const Wide& x) {
    const Wide half = scale(x, -1);
    const Wide t = abs(x) * one_over_sqrt_2();
    if (x.leading() < 0) return half + half * (x.sign ? -erf(t) : erf(t));
    return x.sign ? half * erfc(t) : x - half * erfc_beside_one(t);
}

static_assert(abs(erfc(Wide(false, -20, 2621439)) / erfc(Wide(false, -20, 2621441)) - Wide{1}) < Wide(false, -16, 1));

}  // namespace ulp::wide
