#include "engine/exponent_counts.hpp"

#include <algorithm>
#include <bit>

#ifdef __x86_64__
#include <immintrin.h>
#define ULPLAB_AVX2 [[gnu::target("avx2")]]
#define ULPLAB_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#endif

namespace ulp {
namespace {

void count_one_by_one(std::span<const float> values, FieldCounts& counts) {
    for (const float x : values) ++counts[std::bit_cast<std::uint32_t>(x) >> 23 & 0xFF];
}

/// Tables in turn, so that equal neighbours do not wait for each other's count.
void count_in_tables(std::span<const float> values, FieldCounts& counts) {
    constexpr std::size_t tables = 8;
    std::array<std::array<std::uint32_t, 256>, tables> table{};
    const auto field = [&](std::size_t i) { return std::bit_cast<std::uint32_t>(values[i]) >> 23 & 0xFF; };
    std::size_t i = 0;
    for (; i + tables <= values.size(); i += tables) {
        for (std::size_t j = 0; j < tables; ++j) ++table[j][field(i + j)];
    }
    for (; i < values.size(); ++i) ++table[0][field(i)];
    for (const auto& one : table) {
        for (std::size_t f = 0; f < counts.size(); ++f) counts[f] += one[f];
    }
}

/// Runs f on blocks of at most `length` values.
template <class Function>
void each_block(std::span<const float> values, std::size_t length, const Function& f) {
    for (std::size_t first = 0; first < values.size(); first += length) {
        f(values.subspan(first, std::min(length, values.size() - first)));
    }
}

#ifdef __x86_64__

// Most of a tensor's exponents lie in few binades below the largest. Those are compared with, 32 numbers at once; what
// lies outside is counted number by number.
constexpr std::size_t width = sizeof(__m256i);
constexpr std::size_t block = 255 * width;  // no byte of a sum overflows
constexpr std::size_t compared = 24;        // fields: 0, 255 and a window
constexpr int window = compared - 2;

ULPLAB_AVX2 inline __m256i load(const std::uint8_t* codes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
}
ULPLAB_AVX2 inline __m256i all(int code) { return _mm256_set1_epi8(static_cast<char>(code)); }

/// found[j]: how many of the codes are fields[j], for four of them.
ULPLAB_AVX2 void match_four(const std::uint8_t* codes, std::size_t count, const int* fields, std::int64_t* found) {
    __m256i pattern[4];
    __m256i sums[4];
    for (int j = 0; j < 4; ++j) {
        pattern[j] = all(fields[j]);
        sums[j] = _mm256_setzero_si256();
    }
    for (std::size_t i = 0; i < count; i += width) {
        const __m256i code = load(codes + i);
        for (int j = 0; j < 4; ++j) sums[j] = _mm256_sub_epi8(sums[j], _mm256_cmpeq_epi8(code, pattern[j]));
    }
    for (int j = 0; j < 4; ++j) {
        alignas(width) std::int64_t parts[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(parts), _mm256_sad_epu8(sums[j], _mm256_setzero_si256()));
        found[j] = parts[0] + parts[1] + parts[2] + parts[3];
    }
}

/// Counts the codes that are neither 0 nor 255 nor in the window from `lowest` on.
ULPLAB_AVX2 void count_outside(const std::uint8_t* codes, std::size_t count, int lowest, FieldCounts& counts) {
    for (std::size_t i = 0; i < count; i += width) {
        const __m256i code = load(codes + i);
        const __m256i clamped = _mm256_min_epu8(_mm256_max_epu8(code, all(lowest)), all(lowest + window - 1));
        const __m256i ends = _mm256_or_si256(_mm256_cmpeq_epi8(code, all(0)), _mm256_cmpeq_epi8(code, all(255)));
        const __m256i inside = _mm256_or_si256(_mm256_cmpeq_epi8(code, clamped), ends);
        auto outside = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(inside));
        for (; outside != 0; outside &= outside - 1) {
            ++counts[codes[i + static_cast<std::size_t>(std::countr_zero(outside))]];
        }
    }
}

/// The exponent fields of 8 numbers.
ULPLAB_AVX2 inline __m256i fields_of(const float* values) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
    return _mm256_srli_epi32(_mm256_slli_epi32(words, 1), 24);
}
/// One byte for each number, in any order. Returns the largest that is not 255.
ULPLAB_AVX2 int encode(const float* values, std::size_t count, std::uint8_t* codes) {
    __m256i top = _mm256_setzero_si256();
    for (std::size_t i = 0; i < count; i += width) {
        const __m256i low = _mm256_packus_epi32(fields_of(values + i), fields_of(values + i + 8));
        const __m256i high = _mm256_packus_epi32(fields_of(values + i + 16), fields_of(values + i + 24));
        const __m256i code = _mm256_packus_epi16(low, high);
        _mm256_store_si256(reinterpret_cast<__m256i*>(codes + i), code);
        top = _mm256_max_epu8(top, _mm256_andnot_si256(_mm256_cmpeq_epi8(code, all(255)), code));
    }
    alignas(width) std::uint8_t tops[width];
    _mm256_store_si256(reinterpret_cast<__m256i*>(tops), top);
    return *std::max_element(tops, tops + width);
}

ULPLAB_AVX2 void count_block_avx2(std::span<const float> values, FieldCounts& counts) {
    alignas(width) std::uint8_t codes[block];
    const std::size_t whole = values.size() / width * width;
    const int top = encode(values.data(), whole, codes);
    const int lowest = std::max(top - window + 1, 1);
    int fields[compared] = {0, 255};
    for (int j = 0; j < window; ++j) fields[j + 2] = lowest + j;
    std::int64_t found[compared];
    for (std::size_t j = 0; j < compared; j += 4) match_four(codes, whole, fields + j, found + j);
    std::int64_t inside = 0;
    for (const std::int64_t n : found) inside += n;
    const auto all_of_them = static_cast<std::int64_t>(whole);
    if (inside < all_of_them / 2) return count_in_tables(values, counts);
    for (std::size_t j = 0; j < compared; ++j) counts[static_cast<std::size_t>(fields[j])] += found[j];
    if (inside < all_of_them) count_outside(codes, whole, lowest, counts);
    count_one_by_one(values.subspan(whole), counts);
}

#endif

/// Counts in blocks with counters as wide as the numbers, which compilers vectorise with the instructions of the
/// function around.
template <class Word, class Real>
[[gnu::always_inline]] inline Tally tally_all(std::span<const Real> values, Word infinity) {
    constexpr std::size_t tallied = 4096;
    Tally tally;
    for (std::size_t first = 0; first < values.size(); first += tallied) {
        Word zeros = 0;
        Word finite = 0;
        const std::size_t last = std::min(first + tallied, values.size());
        for (std::size_t i = first; i < last; ++i) {
            const Word word = std::bit_cast<Word>(values[i]);
            zeros += static_cast<Word>(word << 1) == 0 ? 1U : 0U;
            finite += (word & infinity) != infinity ? 1U : 0U;
        }
        tally.zeros += static_cast<std::int64_t>(zeros);
        tally.finite += static_cast<std::int64_t>(finite);
    }
    return tally;
}
constexpr std::uint32_t infinity32 = 0x7F800000;

#ifdef __x86_64__
ULPLAB_AVX2 Tally tally_avx2(std::span<const float> values) { return tally_all(values, infinity32); }
ULPLAB_AVX512 Tally tally_avx512(std::span<const float> values) { return tally_all(values, infinity32); }
#endif

}  // namespace

FieldCounts count_exponent_fields(std::span<const float> values, [[maybe_unused]] Simd simd) {
    FieldCounts counts{};
#ifdef __x86_64__
    if (simd >= Simd::avx2) {
        each_block(values, block, [&](std::span<const float> part) { count_block_avx2(part, counts); });
        return counts;
    }
#endif
    each_block(values, std::size_t{1} << 20, [&](std::span<const float> part) { count_in_tables(part, counts); });
    return counts;
}

FieldCounts count_exponent_fields_plain(std::span<const float> values) {
    FieldCounts counts{};
    count_one_by_one(values, counts);
    return counts;
}

Tally tally_of(std::span<const float> values, [[maybe_unused]] Simd simd) {
#ifdef __x86_64__
    if (simd >= Simd::avx512) return tally_avx512(values);
    if (simd == Simd::avx2) return tally_avx2(values);
#endif
    return tally_all(values, infinity32);
}
Tally tally_of(std::span<const double> values) { return tally_all(values, std::uint64_t{0x7FF0000000000000}); }

}  // namespace ulp
