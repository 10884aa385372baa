// Counting exponents and zeros, written once over a vector kit (softfloat/vector/). Included by exponent_counts_*.cpp.
//
// Exponent fields become bytes, four of each 32-bit lane. Most of a tensor's exponents lie in few binades below the
// largest: those fields are compared with all bytes of a register at once, and what is left is counted one by one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/watching/kernels/exponent_counts.hpp"
#include "engine/watching/kernels/lanes.hpp"

namespace ulp {
namespace {

constexpr int compared = 22;       // fields at most, beside 0 and 255
static_assert(compared % 4 == 2);  // two, then four at a time, down to field 1 at least
constexpr std::uint32_t each_byte = 0x01010101;

template <class Vec>
constexpr std::size_t bytes_of_register = 4 * Vec::lanes;
/// No byte that counts overflows.
template <class Vec>
constexpr std::size_t chunk = 255 * bytes_of_register<Vec>;

template <class Vec>
struct Codes {
    alignas(64) std::uint8_t bytes[chunk<Vec>];
    std::size_t count;
    int top;  // the largest but 255
    std::int64_t zeros;
};

/// One byte for each of `count` numbers, in any order; `count` is a multiple of a register's bytes.
template <class Vec>
void encode(const float* values, std::size_t count, Codes<Vec>& codes) {
    const auto one = Vec::set(1);
    auto zeros = Vec::set(0);
    auto above = Vec::set(0);  // the largest code + 1, for which 255 is 0
    const auto field = [&](std::size_t i) {
        const auto magnitude = Vec::template shift_left<1>(Vec::load(values + i));
        zeros = Vec::add(zeros, Vec::where(Vec::equal(magnitude, Vec::set(0)), one));
        return Vec::template shift_right<24>(magnitude);
    };
    constexpr std::size_t lanes = Vec::lanes;
    for (std::size_t i = 0; i < count; i += bytes_of_register<Vec>) {
        const auto low = Vec::bit_or(field(i), Vec::template shift_left<8>(field(i + lanes)));
        const auto high = Vec::bit_or(field(i + 2 * lanes), Vec::template shift_left<8>(field(i + 3 * lanes)));
        const auto code = Vec::bit_or(low, Vec::template shift_left<16>(high));
        Vec::store(codes.bytes + i, code);
        above = Vec::max_bytes(above, Vec::add_bytes(code, Vec::set(each_byte)));
    }
    std::uint8_t tops[bytes_of_register<Vec>];
    Vec::store(tops, above);
    codes.top = 0;
    for (const std::uint8_t top : tops) codes.top = top > codes.top + 1 ? top - 1 : codes.top;
    codes.count = count;
    codes.zeros = sum_of_lanes<Vec>(zeros);
}

/// Counts the codes that are one of four fields; returns how many they are.
template <class Vec>
std::int64_t match_four(const Codes<Vec>& codes, const int (&of_fields)[4], std::int64_t* fields) {
    typename Vec::Int pattern[4];
    typename Vec::Int sums[4];
    for (int j = 0; j < 4; ++j) {
        pattern[j] = Vec::set(each_byte * static_cast<std::uint32_t>(of_fields[j]));
        sums[j] = Vec::set(0);
    }
    for (std::size_t i = 0; i < codes.count; i += bytes_of_register<Vec>) {
        const auto code = Vec::load(codes.bytes + i);
        for (int j = 0; j < 4; ++j) sums[j] = Vec::count_equal_bytes(sums[j], code, pattern[j]);
    }
    std::int64_t found = 0;
    for (int j = 0; j < 4; ++j) {
        const std::int64_t sum = Vec::sum_of_bytes(sums[j]);
        fields[of_fields[j]] += sum;
        found += sum;
    }
    return found;
}

/// Counts the codes from 1 to `highest`.
template <class Vec>
void count_low(const Codes<Vec>& codes, int highest, std::int64_t* fields) {
    const auto limit = Vec::set(each_byte * static_cast<std::uint32_t>(highest));
    for (std::size_t i = 0; i < codes.count; i += bytes_of_register<Vec>) {
        const auto code = Vec::load(codes.bytes + i);
        std::uint64_t left = Vec::greater_bytes(limit, Vec::add_bytes(code, Vec::set(~std::uint32_t{0})));  // code - 1
        for (; left != 0; left &= left - 1) ++fields[codes.bytes[i + static_cast<std::size_t>(__builtin_ctzll(left))]];
    }
}

/// Tables in turn, so that equal neighbours do not wait for each other's count.
template <class Vec>
void count_in_tables(const Codes<Vec>& codes, std::int64_t* fields) {
    constexpr std::size_t tables = 8;
    std::uint32_t table[tables][256] = {};
    for (std::size_t i = 0; i < codes.count; i += tables) {
        for (std::size_t j = 0; j < tables; ++j) ++table[j][codes.bytes[i + j]];
    }
    for (const auto& one : table) {
        for (int f = 0; f < 256; ++f) fields[f] += one[f];
    }
}

template <class Vec>
void count_codes(const Codes<Vec>& codes, std::int64_t* fields) {
    std::int64_t found[256] = {};
    const int top = codes.top > compared ? codes.top : compared;
    const auto few = static_cast<std::int64_t>(codes.count / 64);
    auto left = static_cast<std::int64_t>(codes.count);
    int lowest = top - 1;
    left -= match_four<Vec>(codes, {0, 255, top, top - 1}, found);
    for (; left > few && lowest > top - compared + 1; lowest -= 4) {
        left -= match_four<Vec>(codes, {lowest - 1, lowest - 2, lowest - 3, lowest - 4}, found);
    }
    if (left > few * 16) return count_in_tables<Vec>(codes, fields);  // numbers from everywhere
    if (left > 0) count_low<Vec>(codes, lowest - 1, found);
    for (int f = 0; f < 256; ++f) fields[f] += found[f];
}

/// Counts `count` numbers: 256 exponent fields, and zeros.
template <class Vec>
void count_fields(const float* values, std::size_t count, std::int64_t* fields, std::int64_t* zeros) {
    Codes<Vec> codes;
    while (count >= bytes_of_register<Vec>) {
        const std::size_t whole = count / bytes_of_register<Vec> * bytes_of_register<Vec>;
        const std::size_t now = whole < chunk<Vec> ? whole : chunk<Vec>;
        encode<Vec>(values, now, codes);
        count_codes<Vec>(codes, fields);
        *zeros += codes.zeros;
        values += now;
        count -= now;
    }
    for (; count != 0; --count, ++values) {
        std::uint32_t word;
        __builtin_memcpy(&word, values, sizeof word);
        ++fields[word >> 23 & 0xFF];
        *zeros += (word << 1) == 0 ? 1 : 0;
    }
}

/// Adds the zeros and the finite numbers. The lanes that count hold fewer than 2^32.
template <class Vec>
void tally_words(const float* values, std::size_t count, std::int64_t* zeros, std::int64_t* finite) {
    constexpr std::size_t lanes = Vec::lanes;
    const auto infinity = Vec::set(0xFF000000);  // shifted as the magnitudes are
    const auto one = Vec::set(1);
    auto zero_lanes = Vec::set(0);
    auto special_lanes = Vec::set(0);
    const std::size_t whole = count / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        const auto magnitude = Vec::template shift_left<1>(Vec::load(values + i));
        zero_lanes = Vec::add(zero_lanes, Vec::where(Vec::equal(magnitude, Vec::set(0)), one));
        const auto special = Vec::equal(Vec::bit_and(magnitude, infinity), infinity);
        special_lanes = Vec::add(special_lanes, Vec::where(special, one));
    }
    *zeros += sum_of_lanes<Vec>(zero_lanes);
    *finite += static_cast<std::int64_t>(count) - sum_of_lanes<Vec>(special_lanes);
    for (std::size_t i = whole; i < count; ++i) {
        std::uint32_t word;
        __builtin_memcpy(&word, values + i, sizeof word);
        *zeros += (word << 1) == 0 ? 1 : 0;
        *finite -= (word << 1) >= 0xFF000000 ? 1 : 0;
    }
}

template <class Vec>
constexpr ExponentKernels make_kernels() {
    return {count_fields<Vec>, tally_words<Vec>};
}

}  // namespace
}  // namespace ulp
