// Sine and cosine in double: the quick first phase.
#pragma once

#include <bit>

#include "softfloat/functions/accurate_trig.hpp"
#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp::quick_phase {

struct Quadrant {
    std::int64_t quadrant;  // modulo 4
    double r;               // |r| <= pi/4, a little more at the edge
};

/// The accurate reduction's result as a double (53 bits of it, cut off).
constexpr double to_double(const Float127& x) {
    const double magnitude = static_cast<double>(static_cast<std::int64_t>(x.significand >> 74));
    return (x.sign ? -magnitude : magnitude) * power_of_two(x.exponent + 74);
}

/// x of at most 24 significant bits. Up to 2^18, pi/2 in three parts (Cody and Waite): the first two have 33 bits, so
/// k * part is exact, and the first difference is exact too; the later ones lose 2^-53 of r, however small r is.
constexpr Quadrant reduce_quadrant(double x) {
    if (x > 0x1p18 || x < -0x1p18) {
        const auto bits = std::bit_cast<std::uint64_t>(x < 0 ? -x : x);
        const auto [quadrant, r] = accurate_phase::reduce_quadrant(decode<std::uint64_t>(formats::fp64, bits));
        const double magnitude = to_double(r);
        return x < 0 ? Quadrant{-quadrant, -magnitude} : Quadrant{quadrant, magnitude};
    }
    constexpr double part1 = 0x1.921fb544p+0;
    constexpr double part2 = 0x1.0b4611a6p-34;
    constexpr double part3 = 0x1.3198a2e037073p-69;
    const Nearest k = nearest(x * 0x1.45f306dc9c883p-1);
    return {k.integer, ((x - k.value * part1) - k.value * part2) - k.value * part3};
}

/// Taylor, |r| <= 0.79: relative errors below r^16/17! < 2^-53 and r^16/16!/cos(r) < 2^-49.
constexpr double sin_core(double r) {
    constexpr double c[] = {1.0,          -1.0 / 6,        1.0 / 120,          -1.0 / 5040,
                            1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
    return r * polynomial(r * r, c);
}
constexpr double cos_core(double r) {
    constexpr double c[] = {1.0,         -1.0 / 2,       1.0 / 24,          -1.0 / 720,
                            1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0};
    return polynomial(r * r, c);
}

/// sin(r + quadrant * pi/2).
constexpr double sin_of(const Quadrant& x) {
    const double y = (x.quadrant & 1) != 0 ? cos_core(x.r) : sin_core(x.r);
    return (x.quadrant & 2) != 0 ? -y : y;
}
constexpr double sin(double x) { return sin_of(reduce_quadrant(x)); }
constexpr double cos(double x) {
    const auto [quadrant, r] = reduce_quadrant(x);
    return sin_of({quadrant + 1, r});
}

}  // namespace ulp::quick_phase
