// Eight 32-bit lanes: the operations that the kernels are written in. See lanes_avx512.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ulp::array {
namespace {

struct Avx2 {
    using Word = __m256i;
    using Mask = __m256i;  // all bits of a lane
    static constexpr int width = 8;

    static Word load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i_u*>(p)); }
    static void store(void* p, Word x) { _mm256_storeu_si256(static_cast<__m256i_u*>(p), x); }
    /// The lanes hold at most 16 bits.
    static void store16(void* p, Word x) { _mm_storeu_si128(static_cast<__m128i_u*>(p), halves_of(x)); }
    /// The lanes hold at most 8 bits.
    static void store8(void* p, Word x) {
        const __m128i halves = halves_of(x);
        _mm_storel_epi64(static_cast<__m128i_u*>(p), _mm_packus_epi16(halves, halves));
    }
    static Word load16(const void* p) {
        return _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i_u*>(p)));
    }
    static Word load8(const void* p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i_u*>(p))); }
    static Word set(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }

    static Word both(Word a, Word b) { return _mm256_and_si256(a, b); }
    static Word either(Word a, Word b) { return _mm256_or_si256(a, b); }
    static Word differ(Word a, Word b) { return _mm256_xor_si256(a, b); }
    static Word without(Word a, Word b) { return _mm256_andnot_si256(b, a); }
    static Word add(Word a, Word b) { return _mm256_add_epi32(a, b); }
    static Word subtract(Word a, Word b) { return _mm256_sub_epi32(a, b); }
    /// A distance of 32 or more, or below 0, gives 0.
    static Word shift_left(Word a, Word distance) { return _mm256_sllv_epi32(a, distance); }
    static Word shift_right(Word a, Word distance) { return _mm256_srlv_epi32(a, distance); }
    static Word all_sign(Word a) { return _mm256_srai_epi32(a, 31); }
    static Word max_signed(Word a, Word b) { return _mm256_max_epi32(a, b); }

    static Mask greater_signed(Word a, Word b) { return _mm256_cmpgt_epi32(a, b); }
    static Mask greater_unsigned(Word a, Word b) {
        const Word flip = set(0x80000000);
        return greater_signed(differ(a, flip), differ(b, flip));
    }
    static Mask equal(Word a, Word b) { return _mm256_cmpeq_epi32(a, b); }
    static Word select(Mask mask, Word yes, Word no) { return _mm256_blendv_epi8(no, yes, mask); }
    static Word where(Mask mask, Word yes) { return both(mask, yes); }
    static bool any(Mask mask) { return _mm256_testz_si256(mask, mask) == 0; }

    struct Product {
        Word high;
        Word low;
    };
    static Product multiply(Word a, std::uint32_t b) {
        const Word factor = _mm256_set1_epi64x(b);
        const Word even = _mm256_mul_epu32(a, factor);
        const Word odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
        return {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA),
                _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA)};
    }
    /// The number of the Philox block that each lane computes, for words that come out of `in_order` in order.
    static Word block_offsets() { return _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7); }
    /// See lanes_avx512.hpp: transposes two 4 by 4 matrices.
    static void in_order(Word& a, Word& b, Word& c, Word& d) {
        const Word ab_low = _mm256_unpacklo_epi32(a, b);
        const Word ab_high = _mm256_unpackhi_epi32(a, b);
        const Word cd_low = _mm256_unpacklo_epi32(c, d);
        const Word cd_high = _mm256_unpackhi_epi32(c, d);
        a = _mm256_unpacklo_epi64(ab_low, cd_low);
        b = _mm256_unpackhi_epi64(ab_low, cd_low);
        c = _mm256_unpacklo_epi64(ab_high, cd_high);
        d = _mm256_unpackhi_epi64(ab_high, cd_high);
    }

  private:
    static __m128i halves_of(Word x) {
        return _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    }
};

}  // namespace
}  // namespace ulp::array
