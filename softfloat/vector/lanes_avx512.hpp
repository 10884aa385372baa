// Sixteen 32-bit lanes: the operations that the kernels are written in. Everything in an unnamed namespace, few
// includes: see softfloat/vector/simd_choice.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ulp::array {
namespace {

struct Avx512 {
    using Word = __m512i;
    using Mask = __mmask16;
    static constexpr int width = 16;
    // Roundings of single instructions.
    static constexpr int zero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    static constexpr int down = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    static constexpr int up = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;

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
    static Word min_signed(Word a, Word b) { return _mm512_min_epi32(a, b); }

    static Mask greater_signed(Word a, Word b) { return _mm512_cmpgt_epi32_mask(a, b); }
    static Mask greater_unsigned(Word a, Word b) { return _mm512_cmpgt_epu32_mask(a, b); }
    static Mask equal(Word a, Word b) { return _mm512_cmpeq_epi32_mask(a, b); }
    static Word select(Mask mask, Word yes, Word no) { return _mm512_mask_mov_epi32(no, mask, yes); }
    static Word where(Mask mask, Word yes) { return _mm512_maskz_mov_epi32(mask, yes); }
    static bool any(Mask mask) { return mask != 0; }

    // Philox: each lane of 64 bits computes a block of four words.
    using Word64 = __m512i;
    static constexpr int blocks = 8;
    static Word64 set64(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
    /// Each lane's block, so that `in_order` leaves them in order.
    static Word64 block_numbers(std::uint64_t first) {
        return _mm512_add_epi64(set64(first), _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
    }
    static Word64 upper(Word64 x) { return _mm512_srli_epi64(x, 32); }
    static Word64 differ64(Word64 a, Word64 b, Word64 c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
    /// Of the lower halves.
    static Word64 product(Word64 a, Word64 b) { return _mm512_mul_epu32(a, b); }
    /// Four words of each lane's block, in the lower halves:
    ///
    ///     a0 a4 a1 a5 ...   b0 b4 b1 b5 ...   ->   a0 b0 a4 b4 ...   c0 d0 c4 d4 ...   ->   a0 b0 c0 d0 a1 ...
    static void in_order(Word64 a, Word64 b, Word64 c, Word64 d, Word* words) {
        const Word ab = _mm512_mask_shuffle_epi32(a, 0xAAAA, b, _MM_PERM_CCAA);
        const Word cd = _mm512_mask_shuffle_epi32(c, 0xAAAA, d, _MM_PERM_CCAA);
        words[0] = _mm512_unpacklo_epi64(ab, cd);
        words[1] = _mm512_unpackhi_epi64(ab, cd);
    }

    /// The integer part of x * 2^exponent, for positive fp32 words x and results below 2^32; the exponents as fp32
    /// words.
    static constexpr bool has_integer_part = true;
    static Word integer_part(Word x, Word exponent) {
        return _mm512_cvttps_epu32(_mm512_scalef_ps(single_of(x), single_of(exponent)));
    }

    /// fp32 arithmetic in the rounding of the processor's control register.
    struct Single {
        using Reg = __m512;
        static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
        static Reg subtract(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
        static Reg multiply(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
        static Reg divide(Reg a, Reg b) { return _mm512_div_ps(a, b); }
        static Reg sqrt(Reg a) { return _mm512_sqrt_ps(a); }
        static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
        /// Rounded to odd, whatever the control register says: the result toward zero, with the last bit set where the
        /// results down and up differ.
        static Reg add_to_odd(Reg a, Reg b) {
            return odd(_mm512_add_round_ps(a, b, zero), _mm512_add_round_ps(a, b, down), _mm512_add_round_ps(a, b, up));
        }
        static Reg fma_to_odd(Reg a, Reg b, Reg c) {
            return odd(_mm512_fmadd_round_ps(a, b, c, zero), _mm512_fmadd_round_ps(a, b, c, down),
                       _mm512_fmadd_round_ps(a, b, c, up));
        }

      private:
        static Reg odd(Reg toward_zero, Reg lower, Reg upper) {
            const Word word = word_of(toward_zero);
            const Mask inexact = _mm512_cmp_ps_mask(lower, upper, _CMP_NEQ_OQ);
            return single_of(_mm512_mask_or_epi32(word, inexact, word, set(1)));
        }
    };
    static Single::Reg single_of(Word x) { return _mm512_castsi512_ps(x); }
    static Word word_of(Single::Reg x) { return _mm512_castps_si512(x); }
    static Single::Reg from_integer(Word x) { return _mm512_cvtepi32_ps(x); }
    static Word canonical_nan(Word x) {
        const Mask nan = _mm512_cmp_ps_mask(single_of(x), single_of(x), _CMP_UNORD_Q);
        return _mm512_mask_mov_epi32(x, nan, set(0x7FC00000));
    }
    static constexpr bool has_half = true;
    /// fp16, exact but for the bits of NaNs.
    static Word load_half(const void* p) {
        return word_of(_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i_u*>(p))));
    }
    /// Rounded to nearest even.
    static void store_half(void* p, Word x) {
        const __m256i halves = _mm512_cvtps_ph(single_of(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm256_storeu_si256(static_cast<__m256i_u*>(p), halves);
    }

    /// fp64 arithmetic on half as many lanes.
    struct Double {
        using Reg = __m512d;
        static Reg multiply(Reg a, Reg b) { return _mm512_mul_pd(a, b); }
        static Reg divide(Reg a, Reg b) { return _mm512_div_pd(a, b); }
        static Reg sqrt(Reg a) { return _mm512_sqrt_pd(a); }
        static Reg add_to_odd(Reg a, Reg b) {
            return odd(_mm512_add_round_pd(a, b, zero), _mm512_add_round_pd(a, b, down), _mm512_add_round_pd(a, b, up));
        }
        static Reg fma_to_odd(Reg a, Reg b, Reg c) {
            return odd(_mm512_fmadd_round_pd(a, b, c, zero), _mm512_fmadd_round_pd(a, b, c, down),
                       _mm512_fmadd_round_pd(a, b, c, up));
        }

      private:
        static Reg odd(Reg toward_zero, Reg lower, Reg upper) {
            const __m512i word = _mm512_castpd_si512(toward_zero);
            const __mmask8 inexact = _mm512_cmp_pd_mask(lower, upper, _CMP_NEQ_OQ);
            return _mm512_castsi512_pd(_mm512_mask_or_epi64(word, inexact, word, _mm512_set1_epi64(1)));
        }
    };
    static Double::Reg widen_low(Word x) { return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_castsi512_si256(x))); }
    static Double::Reg widen_high(Word x) {
        return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_extracti64x4_epi64(x, 1)));
    }
    /// Rounded to odd in fp32. Beyond fp32's range: the largest number, which is odd.
    static Word narrow_odd(Double::Reg low, Double::Reg high) {
        return _mm512_inserti64x4(_mm512_castsi256_si512(narrow_half_odd(low)), narrow_half_odd(high), 1);
    }
    /// fp64 in memory, rounded to odd in fp32.
    static Word load_narrow_odd(const void* p) {
        const auto* doubles = static_cast<const double*>(p);
        return narrow_odd(_mm512_loadu_pd(doubles), _mm512_loadu_pd(doubles + 8));
    }
    static void store_widened(void* p, Word x) {
        auto* doubles = static_cast<double*>(p);
        _mm512_storeu_pd(doubles, widen_low(x));
        _mm512_storeu_pd(doubles + 8, widen_high(x));
    }

  private:
    static __m256i narrow_half_odd(__m512d x) {
        const __m256 toward_zero = _mm512_cvt_roundpd_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        const __mmask8 inexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(toward_zero), x, _CMP_NEQ_OQ);
        const __m256i word = _mm256_castps_si256(toward_zero);
        return _mm256_mask_or_epi32(word, inexact, word, _mm256_set1_epi32(1));
    }
};

}  // namespace
}  // namespace ulp::array
