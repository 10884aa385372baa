// A planted mistake: truncated.
#include <bit>

#include "exercise.hpp"

std::uint16_t half_from_single(float x) {
    const auto word = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = word >> 16 & 0x8000;
    const std::uint32_t magnitude = word & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);
    if (magnitude >= 0x47800000) return static_cast<std::uint16_t>(sign | 0x7C00);

    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    std::uint32_t kept = magnitude - (std::uint32_t{112} << 23);  // the half's bias
    int cut = 13;
    if (exponent < -14) {  // a multiple of 2^-24
        kept = (magnitude & 0x7FFFFF) | 0x800000;
        cut = -1 - exponent;
        if (cut > 25) return static_cast<std::uint16_t>(sign);
    }
    kept >>= cut;
    return static_cast<std::uint16_t>(sign | kept);
}
