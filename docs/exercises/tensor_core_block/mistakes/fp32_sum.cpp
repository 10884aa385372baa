// A planted mistake: fp32 sum.
#include <bit>
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
}  // namespace

std::uint32_t block(int n, int /*fraction_bits*/, const std::uint16_t* a, const std::uint16_t* b, std::uint32_t c) {
    float sum = std::bit_cast<float>(c);
    for (int k = 0; k < n; ++k) sum += value(a[k]) * value(b[k]);
    return std::bit_cast<std::uint32_t>(sum);
}
