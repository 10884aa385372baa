// Roots in double by Newton's method, so that they are constexpr: the quick first phase.
#pragma once

#include "softfloat/functions/quick_lanes.hpp"

namespace ulp::quick_phase {

/// x^(-1/2), x positive and normal. Halving and negating the exponent field (and the fraction with it) is within 3.5%
/// (Lomont, "Fast inverse square root", 2003); a step squares the error: 2^-9, 2^-17, 2^-34, 2^-51.
template <class Real>
constexpr Real rsqrt(Real x) {
    Real y = real_of<Real>(0x5FE6EB50C7B537A9 - (word_of(x) >> 1));
    for (int i = 0; i < 4; ++i) y = y * (1.5 - 0.5 * x * y * y);
    return y;
}

/// x^(1/3) as x (x^(-1/3))^2, free of divisions: each step y (4 - x y^3) / 3 doubles the error 2^-4 of the first guess'
/// bits at least.
template <class Real>
constexpr Real cbrt(Real x) {
    const Real magnitude = magnitude_of(x);
    Real y = real_of<Real>(0x553EF0FF289DD796 - (((word_of(magnitude) >> 32) * 0x55555556) & 0xFFFFFFFF00000000));
    for (int i = 0; i < 5; ++i) y = y * (4 - magnitude * y * y * y) * (1.0 / 3);
    return x * y * y;
}

}  // namespace ulp::quick_phase
