// Roots in double by Newton's method, so that they are constexpr: the quick first phase.
#pragma once

#include <bit>

#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp::quick_phase {

/// x^(-1/2), x positive and normal. Halving and negating the exponent field (and the fraction with it) is within 3.5%
/// (Lomont, "Fast inverse square root", 2003); a step squares the error: 2^-9, 2^-17, 2^-34, 2^-51.
constexpr double rsqrt(double x) {
    double y = std::bit_cast<double>(0x5FE6EB50C7B537A9 - (std::bit_cast<std::uint64_t>(x) >> 1));
    for (int i = 0; i < 4; ++i) y = y * (1.5 - 0.5 * x * y * y);
    return y;
}

/// x^(1/3) as x (x^(-1/3))^2, free of divisions: each step y (4 - x y^3) / 3 doubles the error 2^-4 of the first guess'
/// bits at least.
constexpr double cbrt(double x) {
    const double magnitude = x < 0 ? -x : x;
    double y = std::bit_cast<double>(0x553EF0FF289DD796 - std::bit_cast<std::uint64_t>(magnitude) / 3);
    for (int i = 0; i < 5; ++i) y = y * (4 - magnitude * y * y * y) * (1.0 / 3);
    return x * y * y;
}

}  // namespace ulp::quick_phase
