// fp16's fused multiply-add for all operands but for symmetries: a * b + c is the same with a and b exchanged, with
// both negated, and negated with a and c. What is left are pairs of magnitudes a >= b and any c, 2^45 + 2^30 of them.
// Which of the eight equals of a class is asked is drawn from its pair, so each symmetry is tried, too.
//
// The function is written here a second time, in 64-bit integers: a GPU compares billions of cases with it. Tests
// compare it with the definition (softfloat/arithmetic.hpp).
#pragma once

#include <cstdint>

#include "gpu/instructions/input_classes.hpp"

namespace ulp::gpu::fma_classes {

inline constexpr std::uint64_t magnitudes = 1 << 15;
/// Unordered pairs of magnitudes, infinities and NaNs among them.
inline constexpr std::uint64_t pairs = magnitudes / 2 * (magnitudes + 1);
inline constexpr std::uint64_t classes = pairs << 16;

/// The operands of a pair: their magnitudes, their signs, and whether c is negated.
struct Pair {
    std::uint32_t a, b;
    std::uint32_t c_sign;  // 0x8000 where c's sign is the other one than the class's
};
/// Row r of a triangle and row 2^15 - 1 - r have 2^15 + 1 pairs together.
constexpr Pair pair_of(std::uint64_t index) {
    const auto row = static_cast<std::uint32_t>(index / (magnitudes + 1));
    const auto column = static_cast<std::uint32_t>(index % (magnitudes + 1));
    const auto last = static_cast<std::uint32_t>(magnitudes - 1);
    const std::uint32_t a = column <= last - row ? last - row : row;
    const std::uint32_t b = column <= last - row ? column : column - (last - row) - 1;
    const auto random = static_cast<std::uint32_t>(mix(index));
    const std::uint32_t a_sign = (random & 1) << 15;
    const std::uint32_t b_sign = (random & 2) << 14;
    const bool exchanged = (random & 4) != 0;
    return {exchanged ? b | b_sign : a | a_sign, exchanged ? a | a_sign : b | b_sign, a_sign ^ b_sign};
}

inline constexpr std::uint32_t nan = 0x7FFF;
inline constexpr std::uint32_t infinity = 0x7C00;

/// a * b, as far as it does not depend on c: worked out once for 2^16 of them.
struct Product {
    std::uint32_t sign;  // 0x8000
    bool is_nan;
    bool is_infinity;
    bool is_huge;         // finite, but so large that every finite c leaves an infinity
    std::uint64_t units;  // of 2^-45, the last of them set if there is anything below (sticky)
};
constexpr std::uint64_t significand_of(std::uint32_t magnitude) {
    return magnitude < 0x400 ? magnitude : (magnitude & 0x3FF) | 0x400;
}
/// Of the last place, above 2^-24.
constexpr int place_of(std::uint32_t magnitude) {
    return magnitude < 0x400 ? 0 : static_cast<int>(magnitude >> 10) - 1;
}
constexpr Product product_of(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t x = a & 0x7FFF;
    const std::uint32_t y = b & 0x7FFF;
    Product product{(a ^ b) & 0x8000, x > infinity || y > infinity, false, false, 0};
    product.is_nan = product.is_nan || (x == infinity && y == 0) || (y == infinity && x == 0);
    product.is_infinity = x == infinity || y == infinity;
    if (product.is_nan || product.is_infinity) return product;
    const std::uint64_t significand = significand_of(x) * significand_of(y);
    const int up = place_of(x) + place_of(y) - 3;  // from 2^-48 to 2^-45
    // From 2^17 = 2^62 units on no finite c brings the sum back below 65,520.
    if (up > 0 && significand >> (62 - up) != 0) {
        product.is_huge = true;
        return product;
    }
    product.units =
        up >= 0 ? significand << up : significand >> -up | ((significand & ((1ULL << -up) - 1)) != 0 ? 1 : 0);
    return product;
}

/// The sum with c, rounded to nearest even.
constexpr std::uint32_t fma(const Product& product, std::uint32_t c) {
    const std::uint32_t magnitude = c & 0x7FFF;
    const std::uint32_t c_sign = c & 0x8000;
    if (product.is_nan || magnitude > infinity) return nan;
    if (magnitude == infinity) return product.is_infinity && c_sign != product.sign ? nan : c;
    if (product.is_infinity || product.is_huge) return product.sign | infinity;
    const std::uint64_t addend = significand_of(magnitude) << (place_of(magnitude) + 21);
    const bool same = c_sign == product.sign;
    const bool c_larger = addend > product.units;
    const std::uint64_t sum = same       ? addend + product.units
                              : c_larger ? addend - product.units
                                         : product.units - addend;
    // A sum that is exactly zero is -0 only where both terms are negative zeros.
    if (sum == 0) return same ? product.sign : 0;
    const std::uint32_t sign = same || !c_larger ? product.sign : c_sign;
    const int top = 63 - __builtin_clzll(sum);
    const int down = top - 10 > 21 ? top - 10 : 21;  // the last place is 2^-24 or above
    const std::uint64_t kept = sum >> down;
    const std::uint64_t rest = sum - (kept << down);
    const std::uint64_t half = std::uint64_t{1} << (down - 1);
    const bool away = rest > half || (rest == half && (kept & 1) != 0);
    const std::uint64_t bits = (static_cast<std::uint64_t>(down - 21) << 10) + kept + (away ? 1 : 0);
    return sign | static_cast<std::uint32_t>(bits < infinity ? bits : infinity);
}

/// The answers to a pair and 256 c, one after the other, as one number; a pair's digest is the sum of its 256.
inline constexpr std::uint32_t c_of_segment = 256;
constexpr std::uint64_t next_in_segment(std::uint64_t so_far, std::uint32_t answer) {
    return so_far * 0x9E3779B97F4A7C15 + answer;
}
constexpr std::uint64_t segment_digest(std::uint64_t pair, std::uint32_t segment, std::uint64_t chain) {
    return mix(mix(pair << 8 | segment) ^ chain);
}

}  // namespace ulp::gpu::fma_classes
