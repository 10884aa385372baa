// The accurate error function, and what is made of it: gelu. Relative error below 2^-105.
#pragma once

#include "softfloat/functions/accurate_exp_log.hpp"

namespace ulp::accurate_phase {

constexpr Float127 one_over_sqrt_pi() { return Float127::constant(-127, 0x48375D410A6DB446, 0xB8EA453FB5FF61A2); }
constexpr Float127 one_over_sqrt_2() { return Float127::constant(-127, 0x5A827999FCEF3242, 0x2CBEC4D9BAA55F50); }

/// Where the series gives way to the continued fraction: 1 - erf(2.5) loses 11 bits.
constexpr bool below_erf_split(const Float127& t) { return t < Float127(false, -1, 5); }

/// erf(t) = 2/sqrt(pi) e^(-t^2) sum of 2^n t^(2n+1) / (1 3 5 ... (2n+1)), for 0 <= t <= 2.5: no cancellation, as all
/// terms are positive (Abramowitz and Stegun 7.1.6).
constexpr Float127 erf_series(const Float127& t) {
    const Float127 twice_t2 = scale(t * t, 1);
    Float127 term = t;
    Float127 sum = t;
    for (std::uint64_t n = 3; term.leading() > sum.leading() - 128; n += 2) {
        term = divide(term * twice_t2, n);
        sum = sum + term;
    }
    return scale(sum * exp(-(t * t)) * one_over_sqrt_pi(), 1);
}

/// erfc(t) = e^(-t^2) / sqrt(pi) / (t + (1/2)/(t + (2/2)/(t + (3/2)/(t + ...)))) for t >= 2.5 (A. and S. 7.1.14). About
/// (120 ln 2)^2 / (8 t^2) levels give 120 bits.
constexpr Float127 erfc_fraction(const Float127& t) {
    const Float127 t2 = t * t;
    const int levels = 20 + (t2.leading() < 20 ? 900 / static_cast<int>(t2.significand >> -t2.exponent) : 0);
    Float127 tail = t;
    for (int n = levels; n >= 1; --n) tail = t + scale(Float127{n}, -1) / tail;
    return exp(-t2) * one_over_sqrt_pi() / tail;
}

/// 1 - erf(t), t >= 0.
constexpr Float127 erfc(const Float127& t) {
    return below_erf_split(t) ? Float127{1} - erf_series(t) : erfc_fraction(t);
}

/// erfc(t) to be subtracted from 1: from 10 on it is below 2^-148, less than the last bit of a Float127, and any tiny
/// number gives the same jammed difference.
constexpr Float127 erfc_beside_one(const Float127& t) { return t < Float127{10} ? erfc(t) : Float127{false, -148, 1}; }

constexpr Float127 erf(const Float127& x) {
    const Float127 t = abs(x);
    const Float127 magnitude = below_erf_split(t) ? erf_series(t) : Float127{1} - erfc_beside_one(t);
    return x.sign ? -magnitude : magnitude;
}

/// x Phi(x) = x/2 erfc(-x/sqrt(2)), as a sum where the result comes close to x/2 or to x.
constexpr Float127 gelu(const Float127& x) {
    const Float127 half = scale(x, -1);
    const Float127 t = abs(x) * one_over_sqrt_2();
    if (x.leading() < 0) return half + half * (x.sign ? -erf(t) : erf(t));
    return x.sign ? half * erfc(t) : x - half * erfc_beside_one(t);
}

static_assert(abs(erfc(Float127(false, -20, 2621439)) / erfc(Float127(false, -20, 2621441)) - Float127{1}) <
              Float127(false, -16, 1));

}  // namespace ulp::accurate_phase
