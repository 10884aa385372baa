// Sixteen 32-bit lanes: the operations that the kernels are written in. Everything in an unnamed namespace, few
// includes: see softfloat/simd_choice.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ulp::array {
namespace {

struct Avx512 {
    using Word = __m512i;
    using Mask = __mmask16;
    static constexpr int width = 16;

    static Word load(const void* p) { return _mm512_loadu_si512(p); }
    static void store(void* p, Word x) { _mm512_storeu_si512(p, x); }
    static void store16(void* p, Word x) { _mm256_storeu_si256(static_cast<__m256i_u*>(p), _mm512_cvtepi32_epi16(x)); }
    static void store8(void* p, Word x) { _mm_storeu_si128(static_cast<__m128i_u*>(p), _mm512_cvtepi32_epi8(x)); }
    static Word load16(const void* p) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i_u*>(p)));
    }
    static Word load8(const void* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i_u*>(p))); }
    static Word set(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }

    static Word both(Word a, Word b) { return _mm512_and_si512(a, b); }
    static Word either(Word a, Word b) { return _mm512_or_si512(a, b); }
    static Word differ(Word a, Word b) { return _mm512_xor_si512(a, b); }
    static Word without(Word a, Word b) { return _mm512_andnot_si512(b, a); }
    static Word add(Word a, Word b) { return _mm512_add_epi32(a, b); }
    static Word subtract(Word a, Word b) { return _mm512_sub_epi32(a, b); }
    /// A distance of 32 or more, or below 0, gives 0.
    static Word shift_left(Word a, Word distance) { return _mm512_sllv_epi32(a, distance); }
    static Word shift_right(Word a, Word distance) { return _mm512_srlv_epi32(a, distance); }
    static Word all_sign(Word a) { return _mm512_srai_epi32(a, 31); }
    static Word max_signed(Word a, Word b) { return _mm512_max_epi32(a, b); }

    static Mask greater_signed(Word a, Word b) { return _mm512_cmpgt_epi32_mask(a, b); }
    static Mask greater_unsigned(Word a, Word b) { return _mm512_cmpgt_epu32_mask(a, b); }
    static Mask equal(Word a, Word b) { return _mm512_cmpeq_epi32_mask(a, b); }
    static Word select(Mask mask, Word yes, Word no) { return _mm512_mask_mov_epi32(no, mask, yes); }
    static Word where(Mask mask, Word yes) { return _mm512_maskz_mov_epi32(mask, yes); }
    static bool any(Mask mask) { return mask != 0; }

    struct Product {
        Word high;
        Word low;
    };
    static Product multiply(Word a, std::uint32_t b) {
        const Word factor = _mm512_set1_epi64(b);
        const Word even = _mm512_mul_epu32(a, factor);
        const Word odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), factor);
        return {_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xAAAA, odd),
                _mm512_mask_mov_epi32(even, 0xAAAA, _mm512_slli_epi64(odd, 32))};
    }
    /// The number of the Philox block that each lane computes, for words that come out of `in_order` in order.
    static Word block_offsets() { return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15); }
    /// Four words of each lane's block, one word in each register, to the order of the blocks. Each group of four
    /// lanes is a 4 by 4 matrix to be transposed; `block_offsets` has put the blocks where that leaves them in order.
    static void in_order(Word& a, Word& b, Word& c, Word& d) {
        const Word ab_low = _mm512_unpacklo_epi32(a, b);
        const Word ab_high = _mm512_unpackhi_epi32(a, b);
        const Word cd_low = _mm512_unpacklo_epi32(c, d);
        const Word cd_high = _mm512_unpackhi_epi32(c, d);
        a = _mm512_unpacklo_epi64(ab_low, cd_low);
        b = _mm512_unpackhi_epi64(ab_low, cd_low);
        c = _mm512_unpacklo_epi64(ab_high, cd_high);
        d = _mm512_unpackhi_epi64(ab_high, cd_high);
    }
};

}  // namespace
}  // namespace ulp::array
