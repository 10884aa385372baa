// The accurate sine and cosine, with Payne and Hanek's reduction: only the bits of 2/pi that matter for the argument
// are multiplied, so the largest argument costs what a small one does ("Radian reduction for trigonometric functions",
// SIGNUM Newsletter 18, 1983).
#pragma once

#include "softfloat/functions/float127.hpp"

namespace ulp::accurate_phase {

/// Bits [start, start + 64) of 2/pi after the binary point (bit 0 weighs 1/2); zeros before the point.
/// 1280 bits: enough for arguments up to 2^1024.
constexpr std::uint64_t two_over_pi_bits(int start) {
    constexpr int words = 20;
    constexpr std::uint64_t two_over_pi[words] = {
        0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0,
        0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4,
        0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
        0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB, 0xF0CFBC209AF4361D};
    const auto word = [&](int index) { return index >= 0 && index < words ? two_over_pi[index] : std::uint64_t{0}; };
    const int index = start >= 0 ? start / 64 : -((63 - start) / 64);
    const int shift = start - 64 * index;
    return shift == 0 ? word(index) : word(index) << shift | word(index + 1) >> (64 - shift);
}

/// |x| = (4 n + quadrant) pi/2 + r with |r| <= pi/4 (1 + 2^-60).
struct Quadrant {
    int quadrant;
    Float127 r;
};

/// Turns x = m 2^e, |x| >= 1/2, m < 2^64, into quarter turns modulo 4: m times the 256 bits of 2/pi from weight
/// 2^(1-e), modulo 2^256. Bits above are multiples of 4 in the product, bits below add less than m 2^-254 quarter
/// turns.
///
///     qq . fffff...    2 bits of quadrant, 254 of fraction
constexpr Quadrant reduce_quadrant(const Unpacked<std::uint64_t>& x) {
    std::uint64_t turns[4] = {};
    UInt128 carry = 0;
    for (int i = 3; i >= 0; --i) {
        carry += static_cast<UInt128>(x.significand) * two_over_pi_bits(x.exponent - 2 + 64 * i);
        turns[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
    }
    const bool above_half = ((turns[0] >> 61) & 1) != 0;
    const auto quadrant = static_cast<int>((turns[0] >> 62) + (above_half ? 1 : 0)) & 3;
    const std::uint64_t flip = above_half ? ~std::uint64_t{0} : 0;  // 1 - fraction: complement (2^-254 is nothing)
    const UInt128 high = static_cast<UInt128>((turns[0] ^ flip) & (~std::uint64_t{0} >> 2)) << 64 | (turns[1] ^ flip);
    const UInt128 low = static_cast<UInt128>(turns[2] ^ flip) << 64 | (turns[3] ^ flip);
    const Float127 fraction = Float127{above_half, -126, high} + Float127{above_half, -254, low};
    return {quadrant, fraction * Float127::constant(-126, 0x6487ED5110B4611A, 0x62633145C06E0E69)};
}

/// The alternating Taylor series of odd or even terms from x^first / first! on, relative to the term before:
///     -x^2/(first(first-1)) (1 - x^2/((first+1)(first+2)) (...)),  |x| <= pi/4: the term x^34/34! is below 2^-130
constexpr Float127 alternating_series(const Float127& x, std::uint64_t first) {
    const Float127 x2 = x * x;
    Float127 sum{1};
    for (std::uint64_t n = first + 30; n > first; n -= 2) sum = Float127{1} - divide(x2 * sum, n * (n - 1));
    return -divide(x2 * sum, first * (first - 1));
}
constexpr Float127 sin_core(const Float127& x) { return x + x * alternating_series(x, 3); }
constexpr Float127 cos_core(const Float127& x) { return Float127{1} + alternating_series(x, 2); }

constexpr Quadrant quadrant_of(const Float127& x) {
    if (x.leading() < -1) return {0, abs(x)};
    return reduce_quadrant({Kind::finite, false, x.exponent + 63, static_cast<std::uint64_t>(x.significand >> 63)});
}
/// x has at most 64 significant bits, as every operand has.
constexpr Float127 sin(const Float127& x) {
    const auto [quadrant, r] = quadrant_of(x);
    const Float127 magnitude = (quadrant & 1) != 0 ? cos_core(r) : sin_core(r);
    return ((quadrant & 2) != 0) != x.sign ? -magnitude : magnitude;
}
constexpr Float127 cos(const Float127& x) {
    const auto [quadrant, r] = quadrant_of(x);
    const Float127 magnitude = (quadrant & 1) != 0 ? sin_core(r) : cos_core(r);
    return quadrant == 1 || quadrant == 2 ? -magnitude : magnitude;
}

static_assert(two_over_pi_bits(0) == 0xA2F9836E4E441529 && two_over_pi_bits(-1) == 0xA2F9836E4E441529 >> 1);
static_assert(two_over_pi_bits(-64) == 0 && two_over_pi_bits(4) == 0x2F9836E4E441529F);
static_assert(abs(sin(Float127{3}) * sin(Float127{3}) + cos(Float127{3}) * cos(Float127{3}) - Float127{1}) <
              Float127(false, -120, 1));

}  // namespace ulp::accurate_phase
