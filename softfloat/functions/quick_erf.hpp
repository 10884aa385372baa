// The error function in double, and gelu: the quick first phase.
#pragma once

#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp::quick_phase {

/// erf(t) for |t| <= 1: Taylor, the first term left out is t^33 / (16! 33) < 2^-49.
template <class Real>
constexpr Real erf_core(Real t) {
    constexpr double c[] = {1.0,
                            -1.0 / 3,
                            1.0 / 10,
                            -1.0 / 42,
                            1.0 / 216,
                            -1.0 / 1320,
                            1.0 / 9360,
                            -1.0 / 75600,
                            1.0 / 685440,
                            -1.0 / 6894720,
                            1.0 / 76204800,
                            -1.0 / 918086400,
                            1.0 / 11975040000.0,
                            -1.0 / 168129561600.0,
                            1.0 / 2528170444800.0,
                            -1.0 / 40537905408000.0};
    constexpr double two_over_sqrt_pi = 0x1.20dd750429b6dp+0;
    return two_over_sqrt_pi * t * polynomial(t * t, c);
}

/// e^(t^2) erfc(t) for 1 <= t <= 10.6, relative error 2^-47.5: the polynomial through the Chebyshev points in u, which
/// runs from -1 at t = 10.6 to 1 at t = 1 as 1 / (t + 2.5) does.
template <class Real>
constexpr Real scaled_erfc(Real t) {
    constexpr double c[] = {
        0x1.6bee0ca7b8fbep-3,  0x1.5ec80514ea387p-3,  0x1.e9ddc4379add6p-5,   0x1.032643ae3d0b3p-6,
        0x1.72f4d9ff6e1d8p-9,  0x1.b6a8320714abap-13, -0x1.5b526363c17c2p-15, -0x1.6aecbbb1f62b8p-17,
        0x1.44edbb5db8ff5p-21, 0x1.ddcb5da0c4e73p-22, -0x1.22210367941d7p-26, -0x1.5be28b4661692p-26,
        0x1.6f9ca5745fdc4p-30, 0x1.0c21a47a55cc8p-30, -0x1.bb4fb0b466fe6p-34, -0x1.55c93002d2648p-35};
    return polynomial((917.0 / 96) / ((t < 10.6 ? t : all<Real>(10.6)) + 2.5) - 83.0 / 48, c);
}

/// erfc(t), t >= 1, given t^2 as well. From t = 10.6 on it is below 2^-160 and only that counts: 1 - erfc is 1, and
/// x erfc is a number of x's sign too small for any format within fp32.
template <class Real>
constexpr Real erfc_tail(Real t, Real t2) {
    return exp(-t2) * scaled_erfc(t);
}

template <class Real>
constexpr Real erf(Real x) {
    const Real t = magnitude_of(x);
    const auto tail = [&] {
        const Real magnitude = 1 - erfc_tail(t, t * t);
        return x < 0 ? -magnitude : magnitude;
    };
    return branch<Real>(
        t <= 1, [&] { return erf_core(x); }, tail);
}

/// x Phi(x).
template <class Real>
constexpr Real gelu(Real x) {
    const Real t = magnitude_of(x) * 0x1.6a09e667f3bcdp-1;
    const auto middle = [&] {
        const Real core = erf_core(t);
        return 0.5 * x * (1 + (x < 0 ? -core : core));
    };
    const auto tail = [&] {
        const Real half_erfc = 0.5 * erfc_tail(t, 0.5 * x * x);
        return x < 0 ? x * half_erfc : x - x * half_erfc;
    };
    return branch<Real>(t <= 1, middle, tail);
}

}  // namespace ulp::quick_phase
