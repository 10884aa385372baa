// Counting exponents and zeros, written once over a vector kit (softfloat/vector/). Included by exponent_counts_*.cpp.
//
// A window of 32 exponent fields is counted in one pass. A number sets one bit of a word, by its field:
//
//     1 << (field - first field of the window)       0 where the field lies outside
//
// Each lane has 32 counters of 8 bits, one for each bit of these words. They lie across registers: plane k holds bit k
// of all counters, so that a full adder of three registers adds to all counters at once (Klarqvist, Mula and Lemire,
// "Efficient computation of positional population counts using SIMD instructions", arXiv 1911.02696).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/kernels/exponent_counts.hpp"
#include "engine/kernels/lanes.hpp"

namespace ulp {
namespace {

constexpr int window = 32;  // fields
constexpr int planes = 8;   // bits of a counter
constexpr int levels = 4;   // of full adders: a block is 2^levels registers
template <class Vec>
constexpr std::size_t block = (std::size_t{1} << levels) * Vec::lanes;
constexpr std::size_t blocks_until_full = ((1 << planes) - 1) >> levels;
/// What is counted while it is in the nearest cache. Sums of counters fit 16 bits.
template <class Vec>
constexpr std::size_t chunk = 4 * blocks_until_full* block<Vec>;
static_assert(blocks_until_full << levels < 1 << planes);

struct WindowCounts {
    std::int64_t fields[window];
    std::int64_t found = 0;  // the sum of `fields`
    std::int64_t zeros = 0;
};

/// The bits of a register's numbers, and one more in the lanes of `zeros` for each zero.
template <class Vec>
[[gnu::always_inline]] inline typename Vec::Int bits_of(const float* values, typename Vec::Int first,
                                                        typename Vec::Int& zeros) {
    const auto one = Vec::set(1);
    const auto word = Vec::load(values);
    const auto magnitude = Vec::add(word, word);
    zeros = Vec::add(zeros, Vec::where(Vec::equal(magnitude, Vec::set(0)), one));
    return Vec::shift_left(one, Vec::template shift_right<24>(Vec::sub(magnitude, first)));
}

/// Adds 2^level registers to the planes below `level`; returns what plane `level` is to receive.
template <class Vec, int level>
[[gnu::always_inline]] inline typename Vec::Int add(const float* values, typename Vec::Int first,
                                                    typename Vec::Int (&plane)[planes], typename Vec::Int& zeros) {
    if constexpr (level == 0) {
        return bits_of<Vec>(values, first, zeros);
    } else {
        constexpr int below = level - 1;
        const auto a = add<Vec, below>(values, first, plane, zeros);
        const auto b = add<Vec, below>(values + (std::size_t{1} << below) * Vec::lanes, first, plane, zeros);
        const auto carry = Vec::majority(a, b, plane[below]);
        plane[below] = Vec::xor3(a, b, plane[below]);
        return carry;
    }
}

template <class Vec, unsigned width>
[[gnu::always_inline]] inline void exchange(typename Vec::Int (&plane)[planes], std::uint32_t lower) {
    for (unsigned k = 0; k < planes; ++k) {
        if ((k & width) != 0) continue;
        auto& x = plane[k];
        auto& y = plane[k + width];
        const auto differ = Vec::bit_and(Vec::bit_xor(Vec::template shift_right<width>(x), y), Vec::set(lower));
        y = Vec::bit_xor(y, differ);
        x = Vec::bit_xor(x, Vec::template shift_left<width>(differ));
    }
}

/// From plane k holding bit k of 32 counters to plane b holding the counters b, b + 8, b + 16 and b + 24, a byte each:
/// of each 8 by 8 bits, the quarters off the diagonal are exchanged, then those of the quarters.
template <class Vec>
[[gnu::always_inline]] inline void transpose(typename Vec::Int (&plane)[planes]) {
    exchange<Vec, 4>(plane, 0x0F0F0F0F);
    exchange<Vec, 2>(plane, 0x33333333);
    exchange<Vec, 1>(plane, 0x55555555);
}

/// Counts the fields from `first` on, which is 1 at least and 223 at most. `count` is a multiple of a block, and a
/// chunk at most.
template <class Vec>
[[gnu::noinline]] WindowCounts count_window(const float* values, std::size_t count, int first) {
    using Int = typename Vec::Int;
    static_assert(chunk<Vec> < 1 << 16);
    constexpr std::size_t most = blocks_until_full * block<Vec>;
    const Int below = Vec::set(static_cast<std::uint32_t>(first) << 24);
    const Int even_bytes = Vec::set(0x00FF00FF);
    Int zeros = Vec::set(0);
    Int sums[2 * planes];
    for (Int& sum : sums) sum = Vec::set(0);
    for (std::size_t i = 0; i < count; i += most) {
        const std::size_t end = i + most < count ? i + most : count;
        Int plane[planes];
        for (Int& each : plane) each = Vec::set(0);
        for (std::size_t j = i; j < end; j += block<Vec>) {
            Int carry = add<Vec, levels>(values + j, below, plane, zeros);
            for (int k = levels; k < planes; ++k) {
                const Int next = Vec::bit_and(plane[k], carry);
                plane[k] = Vec::bit_xor(plane[k], carry);
                carry = next;
            }
        }
        transpose<Vec>(plane);
        for (int b = 0; b < planes; ++b) {
            const Int odd = Vec::template shift_right<8>(plane[b]);
            sums[2 * b] = Vec::add_words(sums[2 * b], Vec::bit_and(plane[b], even_bytes));
            sums[2 * b + 1] = Vec::add_words(sums[2 * b + 1], Vec::bit_and(odd, even_bytes));
        }
    }
    WindowCounts counts;
    counts.zeros = sum_of_lanes<Vec>(zeros);
    for (int i = 0; i < 2 * planes; ++i) {  // two counters in each lane, whose sums do not overflow either
        std::uint32_t lanes[Vec::lanes];
        Vec::store(lanes, sums[i]);
        std::uint32_t both = 0;
        for (const std::uint32_t lane : lanes) both += lane;
        const int bit = i / 2 + i % 2 * 8;
        counts.fields[bit] = both & 0xFFFF, counts.fields[bit + 16] = both >> 16;
        counts.found += counts.fields[bit] + counts.fields[bit + 16];
    }
    return counts;
}

/// The largest exponent field but 255, in registers that are `step` numbers apart; 0 where there is none.
template <class Vec>
int largest_field(const float* values, std::size_t count, std::size_t step) {
    const auto one = Vec::set(1 << 23);
    auto above = Vec::set(0);  // the field + 1; 256 is the sign
    for (std::size_t i = 0; i < count; i += step) {
        const auto magnitude = Vec::bit_and(Vec::load(values + i), Vec::set(0x7FFFFFFF));
        above = Vec::max(above, Vec::add(magnitude, one));
    }
    std::uint32_t lanes[Vec::lanes];
    Vec::store(lanes, above);
    std::uint32_t most = 1 << 23;
    for (const std::uint32_t lane : lanes) most = lane > most ? lane : most;
    return static_cast<int>(most >> 23) - 1;
}

/// The word without its sign, shifted left by one.
std::uint32_t magnitude_of(const float* value) {
    std::uint32_t word;
    __builtin_memcpy(&word, value, sizeof word);
    return word << 1;
}

/// Counts a number whose magnitude is given, unless it is zero; returns 1 for one without a field from 1 to 254.
int count_one(std::uint32_t magnitude, std::int64_t* fields) {
    const std::uint32_t field = magnitude >> 24;
    const bool has_field = field - 1 < 254;
    if (has_field) ++fields[field];
    return !has_field && magnitude != 0 ? 1 : 0;
}

/// Counts numbers one by one, but for zeros and fields from `first` to `last`; returns those without a field.
template <class Vec>
std::int64_t count_outside(const float* values, std::size_t count, int first, int last, std::int64_t* fields) {
    const auto zero = Vec::set(0);
    const auto below = Vec::set(static_cast<std::uint32_t>(first) << 24);
    const auto size = Vec::set(static_cast<std::uint32_t>(last - first));
    std::int64_t others = 0;
    for (std::size_t i = 0; i < count; i += Vec::lanes) {
        const auto magnitude = Vec::template shift_left<1>(Vec::load(values + i));
        const auto place = Vec::template shift_right<24>(Vec::sub(magnitude, below));
        const auto outside = Vec::where(Vec::greater(place, size), magnitude);
        if (!Vec::any(Vec::greater_unsigned(outside, zero))) continue;
        std::uint32_t magnitudes[Vec::lanes];
        Vec::store(magnitudes, outside);
        for (const std::uint32_t each : magnitudes) others += count_one(each, fields);
    }
    return others;
}

/// The window of fields below `end`, as far as there are fields from 1 on: where it begins.
int window_below(int end) { return end - window > 1 ? end - window : 1; }

/// Adds numbers that may lie anywhere, but for `zeros` of them, which are zero: window by window from the largest field
/// down, and one by one where only few are left. Returns those without a field.
template <class Vec>
[[gnu::noinline]] std::int64_t count_anywhere(const float* values, std::size_t count, std::int64_t zeros,
                                              std::int64_t few, std::int64_t* fields) {
    std::int64_t found[256] = {};
    auto left = static_cast<std::int64_t>(count) - zeros;
    const int last = largest_field<Vec>(values, count, Vec::lanes);
    int first = last + 1;
    do {
        first = window_below(first);
        const WindowCounts next = count_window<Vec>(values, count, first);
        for (int f = 0; f < window; ++f) {
            left -= found[first + f] == 0 ? next.fields[f] : 0;  // two windows may overlap, and agree there
            found[first + f] = next.fields[f];
        }
    } while (left > few && first > 1);
    const std::int64_t others = left > 0 ? count_outside<Vec>(values, count, first, last, found) : 0;
    for (int f = 1; f < 255; ++f) fields[f] += found[f];
    return others;
}

/// Counts whole blocks, a chunk at most; returns the numbers without a field, zeros apart.
template <class Vec>
std::int64_t count_blocks(const float* values, std::size_t count, std::int64_t* fields, std::int64_t* zeros) {
    constexpr int samples = 16, margin = 4;
    const auto few = static_cast<std::int64_t>(count / 64);
    // A few registers tell where the fields end, more or less.
    const std::size_t step = count / samples / Vec::lanes * Vec::lanes;
    const int end = largest_field<Vec>(values, count, step > 0 ? step : Vec::lanes) + 1 + margin;
    const int first = window_below(end < 255 ? end : 255);
    const WindowCounts counted = count_window<Vec>(values, count, first);
    *zeros += counted.zeros;
    const auto left = static_cast<std::int64_t>(count) - counted.zeros - counted.found;
    if (left > few) return count_anywhere<Vec>(values, count, counted.zeros, few, fields);
    for (int f = 0; f < window; ++f) fields[first + f] += counted.fields[f];
    return left > 0 ? count_outside<Vec>(values, count, first, first + window - 1, fields) : 0;
}

/// ExponentKernels::count.
template <class Vec>
std::int64_t count_fields(const float* values, std::size_t count, std::int64_t* fields, std::int64_t* zeros) {
    std::int64_t others = 0;
    while (count >= block<Vec>) {
        const std::size_t whole = count / block<Vec> * block<Vec>;
        const std::size_t now = whole < chunk<Vec> ? whole : chunk<Vec>;
        others += count_blocks<Vec>(values, now, fields, zeros);
        values += now;
        count -= now;
    }
    for (; count != 0; --count, ++values) {
        const std::uint32_t magnitude = magnitude_of(values);
        others += count_one(magnitude, fields);
        *zeros += magnitude == 0 ? 1 : 0;
    }
    return others;
}

/// Adds the zeros and the finite numbers. The lanes that count hold fewer than 2^32.
template <class Vec>
void tally_words(const float* values, std::size_t count, std::int64_t* zeros, std::int64_t* finite) {
    constexpr std::size_t lanes = Vec::lanes;
    const auto largest_finite = Vec::set(0x7F7FFFFF);
    const auto one = Vec::set(1);
    auto zero_lanes = Vec::set(0);
    auto special_lanes = Vec::set(0);
    const std::size_t whole = count / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        const auto magnitude = Vec::bit_and(Vec::load(values + i), Vec::set(0x7FFFFFFF));
        zero_lanes = Vec::add(zero_lanes, Vec::where(Vec::equal(magnitude, Vec::set(0)), one));
        special_lanes = Vec::add(special_lanes, Vec::where(Vec::greater(magnitude, largest_finite), one));
    }
    *zeros += sum_of_lanes<Vec>(zero_lanes);
    *finite += static_cast<std::int64_t>(count) - sum_of_lanes<Vec>(special_lanes);
    for (std::size_t i = whole; i < count; ++i) {
        const std::uint32_t magnitude = magnitude_of(values + i);
        *zeros += magnitude == 0 ? 1 : 0;
        *finite -= magnitude >= 0xFF000000 ? 1 : 0;
    }
}

/// The largest word without its sign; 0 of no words.
template <class Vec>
std::uint32_t largest_word(const float* values, std::size_t count) {
    constexpr std::size_t lanes = Vec::lanes;
    const auto magnitude_bits = Vec::set(0x7FFFFFFF);
    auto even = Vec::set(0), odd = Vec::set(0);
    std::size_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        even = Vec::max(even, Vec::bit_and(Vec::load(values + i), magnitude_bits));
        odd = Vec::max(odd, Vec::bit_and(Vec::load(values + i + lanes), magnitude_bits));
    }
    std::uint32_t words[lanes], largest = 0;
    Vec::store(words, Vec::max(even, odd));
    for (const std::uint32_t word : words) largest = word > largest ? word : largest;
    for (; i < count; ++i) {
        const std::uint32_t word = magnitude_of(values + i) >> 1;
        largest = word > largest ? word : largest;
    }
    return largest;
}

template <class Vec>
constexpr ExponentKernels make_kernels() {
    return {count_fields<Vec>, tally_words<Vec>, largest_word<Vec>};
}

}  // namespace
}  // namespace ulp
