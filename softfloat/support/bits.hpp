// Integer helpers: the wide word, the length of an integer, shifts that remember what they drop.
#pragma once

#include <cstdint>

namespace ulp {

__extension__ typedef unsigned __int128 UInt128;

// Nothing here comes from <bit>: in code for a GPU nvcc 13.0 silently compiles std::countl_zero to the constant 64, and
// std::countr_zero, std::popcount and std::has_single_bit to constants, too; it compiles __builtin_clzll, used below,
// correctly.

/// Number of bits up to the leading one; 0 for 0.
constexpr int bit_length(std::uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }
constexpr int bit_length(UInt128 x) {
    const auto high = static_cast<std::uint64_t>(x >> 64);
    return high != 0 ? 64 + bit_length(high) : bit_length(static_cast<std::uint64_t>(x));
}

/// Number of zeros below the lowest one; 64 for 0.
constexpr int trailing_zeros(std::uint64_t x) { return x == 0 ? 64 : bit_length(x & (~x + 1)) - 1; }

constexpr bool is_power_of_two(std::uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

template <class Word>
inline constexpr int word_bits = static_cast<int>(sizeof(Word) * 8);

/// x >> distance, with the lowest bit set if any dropped bit was ("jamming", the sticky bit of IEEE rounding).
/// Any distance from 0 up.
template <class Word>
constexpr Word shift_right_jam(Word x, int distance) {
    if (distance == 0) return x;
    if (distance >= word_bits<Word>) return x != 0 ? 1 : 0;
    const Word dropped = x << (word_bits<Word> - distance);
    return (x >> distance) | (dropped != 0 ? 1 : 0);
}

static_assert(bit_length(std::uint64_t{0}) == 0 && bit_length(std::uint64_t{1}) == 1);
static_assert(bit_length(~std::uint64_t{0}) == 64 && bit_length(UInt128{1} << 127) == 128);
static_assert(is_power_of_two(1) && is_power_of_two(64) && !is_power_of_two(0) && !is_power_of_two(96));
static_assert(trailing_zeros(0) == 64 && trailing_zeros(12) == 2 && trailing_zeros(std::uint64_t{1} << 63) == 63);
static_assert(shift_right_jam(std::uint64_t{0b1001}, 2) == 0b11 && shift_right_jam(std::uint64_t{1}, 200) == 1);

}  // namespace ulp
