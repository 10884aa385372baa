// Sine and cosine in double: the quick first phase.
#pragma once

#include "softfloat/functions/accurate_trig.hpp"
#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp::quick_phase {

template <class Real>
struct Quadrant {
    WordOf<Real> quadrant;  // modulo 4
    Real r;                 // |r| <= pi/4, a little more at the edge
};

/// The accurate reduction's result as a double (53 bits of it, cut off).
constexpr double to_double(const Float127& x) {
    const double magnitude = static_cast<double>(static_cast<std::int64_t>(x.significand >> 74));
    return (x.sign ? -magnitude : magnitude) * power_of_two(x.exponent + 74);
}

constexpr Quadrant<double> reduce_quadrant_of_large(double x) {
    const auto operand = decode<std::uint64_t>(formats::fp64, word_of(magnitude_of(x)));
    const auto [quadrant, r] = accurate_phase::reduce_quadrant(operand);
    const double magnitude = to_double(r);
    const auto turns = static_cast<std::uint64_t>(quadrant);
    return x < 0 ? Quadrant<double>{0 - turns, -magnitude} : Quadrant<double>{turns, magnitude};
}

/// x of at most 24 significant bits. Up to 2^18, pi/2 in three parts (Cody and Waite): the first two have 33 bits, so
/// k * part is exact, and the first difference is exact too; the later ones lose 2^-53 of r, however small r is.
/// Larger lanes of a vector become NaN.
template <class Real>
constexpr Quadrant<Real> reduce_quadrant(Real x) {
    if constexpr (!is_vector<Real>) {
        if (x > 0x1p18 || x < -0x1p18) return reduce_quadrant_of_large(x);
    }
    constexpr double part1 = 0x1.921fb544p+0;
    constexpr double part2 = 0x1.0b4611a6p-34;
    constexpr double part3 = 0x1.3198a2e037073p-69;
    const auto k = nearest(x * 0x1.45f306dc9c883p-1, 1);
    const Real r12 = multiply_add(all<Real>(-part2), k.value, multiply_add(all<Real>(-part1), k.value, x));
    const Real r = multiply_add(all<Real>(-part3), k.value, r12);
    if constexpr (is_vector<Real>) return {k.low_bits, magnitude_of(x) <= 0x1p18 ? r : all<Real>(__builtin_nan(""))};
    return {k.low_bits, r};
}

/// Taylor, |r| <= 0.79: relative errors below r^16/17! < 2^-53 and r^16/16!/cos(r) < 2^-49.
template <class Real>
constexpr Real sin_core(Real r) {
    constexpr double c[] = {1.0,          -1.0 / 6,        1.0 / 120,          -1.0 / 5040,
                            1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
    return r * polynomial(r * r, c);
}
template <class Real>
constexpr Real cos_core(Real r) {
    constexpr double c[] = {1.0,         -1.0 / 2,       1.0 / 24,          -1.0 / 720,
                            1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0};
    return polynomial(r * r, c);
}

/// sin(r + quadrant * pi/2).
template <class Real>
constexpr Real sin_of(const Quadrant<Real>& x) {
    const auto odd = (x.quadrant & 1) != 0;
    const Real y = branch<Real>(
        odd, [&] { return cos_core(x.r); }, [&] { return sin_core(x.r); });
    return (x.quadrant & 2) != 0 ? -y : y;
}
template <class Real>
constexpr Real sin(Real x) {
    return sin_of(reduce_quadrant(x));
}
template <class Real>
constexpr Real cos(Real x) {
    const auto [quadrant, r] = reduce_quadrant(x);
    return sin_of<Real>({quadrant + 1, r});
}

}  // namespace ulp::quick_phase
