// A planted mistake: rounded twice.
#include <cmath>

#include "exercise.hpp"

namespace {

float value(std::uint16_t x) {
    const int field = x >> 10 & 31;
    const int fraction = x & 1023;
    float magnitude = std::ldexp(static_cast<float>(1024 + fraction), field - 25);
    if (field == 0) magnitude = std::ldexp(static_cast<float>(fraction), -24);
    if (field == 31) magnitude = fraction == 0 ? INFINITY : NAN;
    return (x & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t half(float x) {
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const float magnitude = std::fabs(x);
    if (std::isnan(x)) return 0x7E00;
    if (magnitude >= 65520) return sign | 0x7C00;
    int exponent = magnitude == 0 ? -14 : std::ilogb(magnitude);
    if (exponent < -14) exponent = -14;
    const int kept = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
    return static_cast<std::uint16_t>(sign | (kept + ((exponent + 14) << 10)));
}

}  // namespace

std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) { return half(value(a) * value(b) + value(c)); }
