// Round to nearest even: a solution.
#include <bit>

#include "exercise.hpp"

std::uint16_t half_from_single(float x) {
    const auto word = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = word >> 16 & 0x8000;
    const std::uint32_t magnitude = word & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);
    if (magnitude >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);  // from 65520 on

    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    std::uint32_t kept = magnitude - (std::uint32_t{112} << 23);  // the half's bias
    int cut = 13;
    if (exponent < -14) {  // a multiple of 2^-24
        kept = (magnitude & 0x7FFFFF) | 0x800000;
        cut = -1 - exponent;
        if (cut > 25) return static_cast<std::uint16_t>(sign);
    }
    const std::uint32_t rest = kept & ((std::uint32_t{1} << cut) - 1);
    const std::uint32_t half_way = std::uint32_t{1} << (cut - 1);
    kept >>= cut;
    if (rest > half_way || (rest == half_way && (kept & 1) != 0)) ++kept;
    return static_cast<std::uint16_t>(sign | kept);
}
