// Fixed-point arithmetic for the generators of data: integers only, so that every machine makes the same bytes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ulp::fixed {

/// 16.16: one is 65536. Products are taken in 64 bits.
using Fixed = std::int64_t;
inline constexpr Fixed one = 1 << 16;

constexpr Fixed times(Fixed a, Fixed b) { return a * b / one; }

/// sin(2 pi phase / 65536): Taylor's series to the seventh power, within 0.0002.
constexpr Fixed sine(std::int64_t phase) {
    const auto turn = static_cast<std::int64_t>(static_cast<std::uint64_t>(phase) & 0xFFFF);
    const std::int64_t half = turn & 0x7FFF;
    const Fixed z = 4 * std::min<std::int64_t>(half, 0x8000 - half);  // quarter turns, 0 to 1
    const Fixed z2 = times(z, z);
    // pi/2, (pi/2)^3 / 3!, (pi/2)^5 / 5!, (pi/2)^7 / 7!
    const Fixed value = times(z, 102944 - times(z2, 42334 - times(z2, 5223 - times(z2, 307))));
    return turn < 0x8000 ? value : -value;
}
constexpr Fixed cosine(std::int64_t phase) { return sine(phase + 0x4000); }

/// A bell like exp(-d2 / (2 s2)), which it meets within 0.08: (1 - d2 / (8 s2))^4, and 0 from 8 s2 on. s2 > 0.
constexpr Fixed bell(Fixed d2, Fixed s2) {
    const Fixed rest = std::max<Fixed>(0, one - d2 * one / (8 * s2));
    const Fixed square = times(rest, rest);
    return times(square, square);
}

constexpr std::uint8_t to_byte(Fixed value) { return static_cast<std::uint8_t>(std::clamp<Fixed>(value, 0, 255)); }

static_assert(sine(0) == 0 && one - sine(0x4000) < 16 && sine(0xC000) == -sine(0x4000) && sine(-1) < 0);
static_assert(bell(0, one) == one && bell(8 * one, one) == 0);

}  // namespace ulp::fixed
