// Stochastic rounding: a solution.
#include <bit>

#include "exercise.hpp"

std::uint16_t round_stochastically(float x, std::uint32_t random) {
    const auto word = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = word >> 16 & 0x8000;
    const int exponent = static_cast<int>(word >> 23 & 255) - 127;
    if (exponent < -126) return static_cast<std::uint16_t>(sign);
    const std::uint64_t significand = (word & 0x7FFFFF) | 0x800000;

    const int cut = exponent < -14 ? -1 - exponent : 13;  // bits below the half's last place
    if (cut > 37) return static_cast<std::uint16_t>(sign);
    std::uint64_t kept = significand >> cut;
    const std::uint64_t rest = significand - (kept << cut);
    const std::uint64_t fraction = rest >> (cut - 13);
    if (fraction + random >= 8192) ++kept;
    const std::uint64_t field = exponent < -14 ? 0 : static_cast<std::uint64_t>(exponent + 14) << 10;
    return static_cast<std::uint16_t>(sign | (field + kept));
}
