#include "engine/exponent_counts.hpp"

#include <algorithm>
#include <bit>

#ifdef __x86_64__
#include <immintrin.h>
#define ULPLAB_AVX2 [[gnu::target("avx2")]]
#define ULPLAB_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")]]
#endif

namespace ulp {
namespace {

void count_one_by_one(std::span<const float> values, ExponentCounts& counts) {
    for (const float x : values) {
        ++counts.fields[std::bit_cast<std::uint32_t>(x) >> 23 & 0xFF];
        counts.zeros += x == 0 ? 1 : 0;
    }
}

/// Tables in turn, so that equal neighbours do not wait for each other's count.
void count_in_tables(std::span<const float> values, ExponentCounts& counts) {
    constexpr std::size_t tables = 8;
    std::array<std::array<std::uint32_t, 256>, tables> table{};
    const auto field = [&](std::size_t i) { return std::bit_cast<std::uint32_t>(values[i]) >> 23 & 0xFF; };
    std::size_t i = 0;
    for (; i + tables <= values.size(); i += tables) {
        for (std::size_t j = 0; j < tables; ++j) ++table[j][field(i + j)];
    }
    for (; i < values.size(); ++i) ++table[0][field(i)];
    for (const auto& one : table) {
        for (std::size_t f = 0; f < counts.fields.size(); ++f) counts.fields[f] += one[f];
    }
    for (const float x : values) counts.zeros += x == 0 ? 1 : 0;
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
// is left is counted number by number.
constexpr std::size_t width = sizeof(__m256i);
constexpr std::size_t block = 255 * width;  // no byte of a sum overflows
constexpr int compared = 22;                // fields at most, beside 0 and 255

ULPLAB_AVX2 inline __m256i load(const std::uint8_t* codes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
}
ULPLAB_AVX2 inline __m256i all(int code) { return _mm256_set1_epi8(static_cast<char>(code)); }

/// Counts the codes that are one of four fields; returns how many they are.
ULPLAB_AVX2 std::int64_t match_four(const std::uint8_t* codes, std::size_t count, const int (&fields)[4],
                                    FieldCounts& counts) {
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
    std::int64_t found = 0;
    for (int j = 0; j < 4; ++j) {
        alignas(width) std::int64_t parts[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(parts), _mm256_sad_epu8(sums[j], _mm256_setzero_si256()));
        const std::int64_t sum = parts[0] + parts[1] + parts[2] + parts[3];
        counts[static_cast<std::size_t>(fields[j])] += sum;
        found += sum;
    }
    return found;
}

/// Counts the codes from 1 to `highest`.
ULPLAB_AVX2 void count_low(const std::uint8_t* codes, std::size_t count, int highest, FieldCounts& counts) {
    for (std::size_t i = 0; i < count; i += width) {
        const __m256i code = load(codes + i);
        const __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(code, all(highest)), code);
        const __m256i found = _mm256_andnot_si256(_mm256_cmpeq_epi8(code, all(0)), low);
        auto left = static_cast<std::uint32_t>(_mm256_movemask_epi8(found));
        for (; left != 0; left &= left - 1) {
            ++counts[codes[i + static_cast<std::size_t>(std::countr_zero(left))]];
        }
    }
}

/// The exponent fields of 8 numbers.
ULPLAB_AVX2 inline __m256i fields_of(const float* values) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
    return _mm256_srli_epi32(_mm256_slli_epi32(words, 1), 24);
}
/// One byte for each number, in any order. Returns the largest that is not 255; counts zeros.
ULPLAB_AVX2 int encode(const float* values, std::size_t count, std::uint8_t* codes, std::int64_t& zeros) {
    __m256i top = _mm256_setzero_si256();
    __m256i zero_lanes = _mm256_setzero_si256();
    for (std::size_t i = 0; i < count; i += 8) {
        const __m256 zero = _mm256_cmp_ps(_mm256_loadu_ps(values + i), _mm256_setzero_ps(), _CMP_EQ_OQ);
        zero_lanes = _mm256_sub_epi32(zero_lanes, _mm256_castps_si256(zero));
    }
    alignas(width) std::uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), zero_lanes);
    for (const std::uint32_t lane : lanes) zeros += lane;
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

ULPLAB_AVX2 void count_block_avx2(std::span<const float> values, ExponentCounts& counts) {
    alignas(width) std::uint8_t codes[block];
    const std::size_t whole = values.size() / width * width;
    ExponentCounts found;
    const int top = std::max(encode(values.data(), whole, codes, found.zeros), compared);
    const auto few = static_cast<std::int64_t>(whole / 64);
    auto left = static_cast<std::int64_t>(whole);
    int lowest = top - 1;
    left -= match_four(codes, whole, {0, 255, top, top - 1}, found.fields);
    for (; left > few && lowest > top - compared + 1; lowest -= 4) {
        left -= match_four(codes, whole, {lowest - 1, lowest - 2, lowest - 3, lowest - 4}, found.fields);
    }
    if (left > few * 32) return count_in_tables(values, counts);  // numbers from everywhere
    if (left > 0) count_low(codes, whole, lowest - 1, found.fields);
    count_one_by_one(values.subspan(whole), found);
    for (std::size_t f = 0; f < counts.fields.size(); ++f) counts.fields[f] += found.fields[f];
    counts.zeros += found.zeros;
}

// With AVX-512, 64 numbers at once and 8 binades: a table turns a byte's distance from the highest of the binades into
// one bit of eight, and carry-save adders count each bit, without a carry that moves on: in planes of ones, twos, fours
// and eights.
constexpr std::size_t wide = sizeof(__m512i);
constexpr std::size_t wide_step = 16 * wide;  // what fills the planes
constexpr std::size_t wide_block = 8 * wide_step;
constexpr int binades = 8;
constexpr int most_windows = 6;  // of 8 binades each

ULPLAB_AVX512 inline __m512i load_wide(const void* from) { return _mm512_loadu_si512(from); }
ULPLAB_AVX512 inline __m512i all_wide(int code) { return _mm512_set1_epi8(static_cast<char>(code)); }

struct Codes {
    alignas(wide) std::uint8_t bytes[wide_block];
    std::size_t count = 0;       // a multiple of wide_step; what is beyond the numbers is 255
    int top = 0;                 // the largest that is not 255
    std::int64_t subnormal = 0;  // code 0: zeros among them
    std::int64_t zeros = 0;
    std::int64_t special = 0;  // 255, of numbers
};

/// The exponent fields of 32 numbers, 16 bits each, from the upper halves of their words.
ULPLAB_AVX512 inline __m512i fields_of_wide(const float* values) {
    const __m512i pairs = _mm512_set1_epi32(0x00020000);  // with the next line: 1, 3, 5 ... 63
    const __m512i steps = _mm512_set_epi32(60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0);
    const __m512i odd = _mm512_add_epi16(_mm512_add_epi16(pairs, _mm512_set1_epi16(1)),
                                         _mm512_or_si512(steps, _mm512_slli_epi32(steps, 16)));
    const __m512i halves = _mm512_permutex2var_epi16(load_wide(values), odd, load_wide(values + 16));
    return _mm512_srli_epi16(_mm512_slli_epi16(halves, 1), 8);
}

ULPLAB_AVX512 void encode_wide(std::span<const float> values, Codes& codes) {
    const std::size_t whole = values.size() / wide * wide;
    __m512i top = _mm512_setzero_si512();
    for (std::size_t i = 0; i < whole; i += wide) {
        const float* from = values.data() + i;
        const __m512i code = _mm512_packus_epi16(fields_of_wide(from), fields_of_wide(from + 32));
        _mm512_store_si512(codes.bytes + i, code);
        const __mmask64 special = _mm512_cmpeq_epi8_mask(code, all_wide(255));
        const __mmask64 subnormal = _mm512_testn_epi8_mask(code, code);
        top = _mm512_max_epu8(top, _mm512_maskz_mov_epi8(~special, code));
        codes.special += std::popcount(special);
        if (subnormal == 0) continue;
        codes.subnormal += std::popcount(subnormal);
        for (std::size_t j = 0; j < wide; j += 16) {
            codes.zeros +=
                std::popcount(_mm512_cmp_ps_mask(_mm512_loadu_ps(from + j), _mm512_setzero_ps(), _CMP_EQ_OQ));
        }
    }
    alignas(wide) std::uint8_t tops[wide];
    _mm512_store_si512(tops, top);
    codes.top = *std::max_element(tops, tops + wide);
    codes.count = (values.size() + wide_step - 1) / wide_step * wide_step;
    std::fill(codes.bytes + whole, codes.bytes + codes.count, std::uint8_t{255});
    for (std::size_t i = whole; i < values.size(); ++i) {
        const int code = static_cast<int>(std::bit_cast<std::uint32_t>(values[i]) >> 23 & 0xFF);
        codes.bytes[i] = static_cast<std::uint8_t>(code);
        codes.top = std::max(codes.top, code % 255);
        codes.special += code == 255 ? 1 : 0;
        codes.subnormal += code == 0 ? 1 : 0;
        codes.zeros += values[i] == 0 ? 1 : 0;
    }
}

/// 64 codes as bits: bit i of a byte for code highest - i, none for a code outside the 8 binades.
ULPLAB_AVX512 inline __m512i bits_of(const std::uint8_t* codes, int highest) {
    const __m512i table = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201U));
    // In a lane of 16 bytes, the table's second half is not reached: a distance of 8 or more gets its top bit set,
    // which makes the shuffle give 0.
    const __m512i distance = _mm512_sub_epi8(all_wide(highest), load_wide(codes));
    return _mm512_shuffle_epi8(table, _mm512_adds_epu8(distance, all_wide(128 - binades)));
}

using Planes = __m512i[4];

/// Adds the bits of 2^level vectors to the planes below that level. Returns what each carries, to be counted 2^level
/// times.
template <int level>
ULPLAB_AVX512 inline __m512i add_to_planes(const std::uint8_t* codes, int highest, Planes& planes) {
    if constexpr (level == 0) {
        return bits_of(codes, highest);
    } else {
        const __m512i a = add_to_planes<level - 1>(codes, highest, planes);
        const __m512i b = add_to_planes<level - 1>(codes + (wide << (level - 1)), highest, planes);
        __m512i& sum = planes[level - 1];
        const __m512i carry = _mm512_ternarylogic_epi64(sum, a, b, 0xE8);
        sum = _mm512_ternarylogic_epi64(sum, a, b, 0x96);
        return carry;
    }
}

/// Adds how often each bit is set, `times` over.
ULPLAB_AVX512 inline void add_bits(__m512i bits, int times, std::int64_t (&found)[binades]) {
    for (int i = 0; i < binades; ++i) {
        found[i] += std::int64_t{times} * std::popcount(_mm512_test_epi8_mask(bits, all_wide(1 << i)));
    }
}

/// Counts the codes of 8 binades: found[i] are those that are highest - i.
ULPLAB_AVX512 void count_binades(const Codes& codes, int highest, std::int64_t (&found)[binades]) {
    Planes planes = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    for (std::size_t i = 0; i < codes.count; i += wide_step) {
        add_bits(add_to_planes<4>(codes.bytes + i, highest, planes), 16, found);
    }
    for (int level = 0; level < 4; ++level) add_bits(planes[level], 1 << level, found);
}

/// Counts the codes from 1 to `highest`, one by one.
ULPLAB_AVX512 void count_low_wide(const Codes& codes, int highest, FieldCounts& counts) {
    for (std::size_t i = 0; i < codes.count; i += wide) {
        const __m512i code = load_wide(codes.bytes + i);
        std::uint64_t left = _mm512_mask_cmple_epu8_mask(_mm512_test_epi8_mask(code, code), code, all_wide(highest));
        for (; left != 0; left &= left - 1) ++counts[codes.bytes[i + static_cast<std::size_t>(std::countr_zero(left))]];
    }
}

ULPLAB_AVX512 void count_block_avx512(std::span<const float> values, ExponentCounts& counts) {
    Codes codes;
    encode_wide(values, codes);
    const auto few = static_cast<std::int64_t>(values.size() / 64);
    std::int64_t left = static_cast<std::int64_t>(values.size()) - codes.subnormal - codes.special;
    std::int64_t found[most_windows][binades] = {};
    int windows = 0;
    for (; left > few && windows < most_windows; ++windows) {
        const int highest = codes.top - windows * binades;
        count_binades(codes, highest, found[windows]);
        for (int i = 0; i < binades && highest - i > 0; ++i) left -= found[windows][i];
    }
    if (left > few) return count_in_tables(values, counts);  // numbers from everywhere
    const int lowest = codes.top - windows * binades;
    if (left > 0) count_low_wide(codes, lowest, counts.fields);
    for (int i = 0; i < windows * binades && codes.top - i > 0; ++i) {
        counts.fields[static_cast<std::size_t>(codes.top - i)] += found[i / binades][i % binades];
    }
    counts.fields[0] += codes.subnormal;
    counts.fields[255] += codes.special;
    counts.zeros += codes.zeros;
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
ULPLAB_AVX512 Tally tally_avx512(std::span<const float> values) {
    constexpr int zero_classes = 0x06;     // of vfpclassps: +0, -0
    constexpr int special_classes = 0x99;  // infinities and NaNs
    const std::size_t whole = values.size() / 64 * 64;
    Tally tally{0, static_cast<std::int64_t>(whole)};
    for (std::size_t i = 0; i < whole; i += 64) {
        std::uint64_t zero = 0;
        std::uint64_t special = 0;
        for (std::size_t j = 0; j < 64; j += 16) {
            const __m512 x = _mm512_loadu_ps(values.data() + i + j);
            zero = zero << 16 | _mm512_fpclass_ps_mask(x, zero_classes);
            special = special << 16 | _mm512_fpclass_ps_mask(x, special_classes);
        }
        tally.zeros += std::popcount(zero);
        tally.finite -= std::popcount(special);
    }
    const Tally rest = tally_all(values.subspan(whole), infinity32);
    return {tally.zeros + rest.zeros, tally.finite + rest.finite};
}
#endif

}  // namespace

ExponentCounts count_exponents(std::span<const float> values, [[maybe_unused]] Simd simd) {
    ExponentCounts counts;
#ifdef __x86_64__
    if (simd >= Simd::avx512) {
        each_block(values, wide_block, [&](std::span<const float> part) { count_block_avx512(part, counts); });
        return counts;
    }
    if (simd == Simd::avx2) {
        each_block(values, block, [&](std::span<const float> part) { count_block_avx2(part, counts); });
        return counts;
    }
#endif
    each_block(values, std::size_t{1} << 20, [&](std::span<const float> part) { count_in_tables(part, counts); });
    return counts;
}

ExponentCounts count_exponents_plain(std::span<const float> values) {
    ExponentCounts counts;
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
