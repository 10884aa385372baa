// Vectors of AVX-512 (F, BW, DQ, VL): 16 lanes of 32 bits. One of the vector kits; docs of the operations stand in
// vec_portable.hpp, remarks here only where the instructions differ.
//
// Included by units compiled for these instructions only: everything is in an unnamed namespace, and includes are few
// (softfloat/vector/simd_choice.hpp says why).
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "softfloat/vector/float_mode.hpp"

namespace ulp::vec {
namespace {

struct Avx512 {
    static constexpr int lanes = 16;
    using Word = std::uint32_t;
    using Kit = Avx512;
    using Int = __m512i;
    using Float = __m512;
    using Double = __m512d;
    using Mask = __mmask16;

    // Memory.
    static Int load(const void* p) { return _mm512_loadu_si512(p); }
    static Int load16(const void* p) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i_u*>(p)));
    }
    static Int load8(const void* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i_u*>(p))); }
    static Float load_float(const void* p) { return _mm512_loadu_ps(p); }
    static Double load_double(const void* p) { return _mm512_loadu_pd(p); }
    static Double load_widened(const void* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(static_cast<const float*>(p))); }
    static void store(void* p, Int x) { _mm512_storeu_si512(p, x); }
    static void store(void* p, Float x) { _mm512_storeu_ps(p, x); }
    static void store(void* p, Double x) { _mm512_storeu_pd(p, x); }
    static void store16(void* p, Int x) { _mm256_storeu_si256(static_cast<__m256i_u*>(p), _mm512_cvtepi32_epi16(x)); }
    static void store8(void* p, Int x) { _mm_storeu_si128(static_cast<__m128i_u*>(p), _mm512_cvtepi32_epi8(x)); }
    static Int set(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
    static Int set(std::int32_t x) { return _mm512_set1_epi32(x); }
    static Float set_float(float x) { return _mm512_set1_ps(x); }
    static Double set_double(double x) { return _mm512_set1_pd(x); }
    static Float as_float(Int x) { return _mm512_castsi512_ps(x); }
    static Int as_int(Float x) { return _mm512_castps_si512(x); }

    // Integers of 32 bits.
    static Int bit_and(Int a, Int b) { return _mm512_and_si512(a, b); }
    static Int bit_or(Int a, Int b) { return _mm512_or_si512(a, b); }
    static Int bit_xor(Int a, Int b) { return _mm512_xor_si512(a, b); }
    static Int and_not(Int a, Int b) { return _mm512_andnot_si512(b, a); }
    static Int xor3(Int a, Int b, Int c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }
    static Int majority(Int a, Int b, Int c) { return _mm512_ternarylogic_epi32(a, b, c, 0xE8); }
    static Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }
    static Int sub(Int a, Int b) { return _mm512_sub_epi32(a, b); }
    static Int max(Int a, Int b) { return _mm512_max_epi32(a, b); }
    static Int min(Int a, Int b) { return _mm512_min_epi32(a, b); }
    static Int shift_left(Int a, Int distance) { return _mm512_sllv_epi32(a, distance); }
    static Int shift_right(Int a, Int distance) { return _mm512_srlv_epi32(a, distance); }
    template <unsigned n>
    static Int shift_left(Int a) {
        return _mm512_slli_epi32(a, n);
    }
    template <unsigned n>
    static Int shift_right(Int a) {
        return _mm512_srli_epi32(a, n);
    }
    static Int all_sign(Int a) { return _mm512_srai_epi32(a, 31); }

    // Masks.
    static Mask greater(Int a, Int b) { return _mm512_cmpgt_epi32_mask(a, b); }
    static Mask greater_unsigned(Int a, Int b) { return _mm512_cmpgt_epu32_mask(a, b); }
    static Mask equal(Int a, Int b) { return _mm512_cmpeq_epi32_mask(a, b); }
    static Int select(Mask mask, Int yes, Int no) { return _mm512_mask_mov_epi32(no, mask, yes); }
    static Int where(Mask mask, Int yes) { return _mm512_maskz_mov_epi32(mask, yes); }
    static Mask none() { return 0; }
    static Mask either(Mask a, Mask b) { return _kor_mask16(a, b); }
    static bool any(Mask mask) { return mask != 0; }
    static bool any(Mask a, Mask b) { return _kortestz_mask16_u8(a, b) == 0; }

    // fp32 and fp64 in the rounding of the processor's control register.
    static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
    static Float sub(Float a, Float b) { return _mm512_sub_ps(a, b); }
    static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
    static Float div(Float a, Float b) { return _mm512_div_ps(a, b); }
    static Float sqrt(Float a) { return _mm512_sqrt_ps(a); }
    static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
    static Double add(Double a, Double b) { return _mm512_add_pd(a, b); }
    static Double sub(Double a, Double b) { return _mm512_sub_pd(a, b); }
    static Double mul(Double a, Double b) { return _mm512_mul_pd(a, b); }
    static Double div(Double a, Double b) { return _mm512_div_pd(a, b); }
    static Double sqrt(Double a) { return _mm512_sqrt_pd(a); }
    static Double fma(Double a, Double b, Double c) { return _mm512_fmadd_pd(a, b, c); }

    static constexpr bool has_fast_fma = true;
    static Float fnma(Float a, Float b, Float c) { return _mm512_fnmadd_ps(a, b, c); }
    static Float larger_magnitude(Float a, Float b) { return _mm512_range_ps(a, b, 7); }
    static Float smaller_magnitude(Float a, Float b) { return _mm512_range_ps(a, b, 6); }
    static Int at_least(Int x, Int least) { return as_int(_mm512_range_ps(as_float(x), as_float(least), 3)); }
    static Mask subnormal(Float x) { return _mm512_fpclass_ps_mask(x, 0x26); }

    static unsigned sign_bits(Double x) { return _mm512_movepi64_mask(_mm512_castpd_si512(x)); }

    // To odd, whatever the control register says: the result toward zero, with the last bit set where the results down
    // and up differ.
    static constexpr int zero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    static constexpr int down = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    static constexpr int up = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
    static constexpr bool adds_to_odd_everywhere = true;
    static Float add_to_odd(Float a, Float b) {
        return odd(_mm512_add_round_ps(a, b, zero), _mm512_add_round_ps(a, b, down), _mm512_add_round_ps(a, b, up));
    }
    static Float fma_to_odd(Float a, Float b, Float c) {
        return odd(_mm512_fmadd_round_ps(a, b, c, zero), _mm512_fmadd_round_ps(a, b, c, down),
                   _mm512_fmadd_round_ps(a, b, c, up));
    }
    static Double add_to_odd(Double a, Double b) {
        return odd(_mm512_add_round_pd(a, b, zero), _mm512_add_round_pd(a, b, down), _mm512_add_round_pd(a, b, up));
    }
    static Double fma_to_odd(Double a, Double b, Double c) {
        return odd(_mm512_fmadd_round_pd(a, b, c, zero), _mm512_fmadd_round_pd(a, b, c, down),
                   _mm512_fmadd_round_pd(a, b, c, up));
    }

    static Double div_to_odd(Double a, Double b) {
        const Double quotient = _mm512_div_round_pd(a, b, zero);
        return odd(quotient, _mm512_fnmadd_pd(quotient, b, a), set_double(0));
    }
    static Double sqrt_to_odd(Double a) {
        const Double root = _mm512_sqrt_round_pd(a, zero);
        return odd(root, _mm512_fnmadd_pd(root, root, a), set_double(0));
    }
    static Double or_sign_of_zero(Double x, Double sign) {
        return _mm512_mask_or_pd(x, _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_EQ_OQ), x, sign);
    }

    // Conversions.
    static Float to_float(Int x) { return _mm512_cvtepi32_ps(x); }
    static Int truncate(Float x) { return _mm512_cvttps_epi32(x); }
    static constexpr unsigned fraction_digits = 32;
    static Float fraction_to_float(Int x) { return _mm512_cvt_roundepu32_ps(x, zero); }
    static Int canonical_nan(Int x) {
        const Mask nan = _mm512_cmp_ps_mask(as_float(x), as_float(x), _CMP_UNORD_Q);
        return _mm512_mask_mov_epi32(x, nan, set(0x7FC00000));
    }
    static constexpr bool has_integer_part = true;
    static Int integer_part(Int x, Int exponent) {
        return _mm512_cvttps_epu32(_mm512_scalef_ps(as_float(x), as_float(exponent)));
    }
    static constexpr bool has_half = true;
    static Int load_half(const void* p) {
        return as_int(_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i_u*>(p))));
    }
    template <int rounding = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC>
    static void store_half(void* p, Int x) {
        const __m256i halves = _mm512_cvtps_ph(as_float(x), rounding);
        _mm256_storeu_si256(static_cast<__m256i_u*>(p), halves);
    }
    static void store_half_odd(void* p, Int x) {
        const __m256i cut = _mm512_cvtps_ph(as_float(x), zero);
        const Mask inexact = _mm512_cmp_ps_mask(_mm512_cvtph_ps(cut), as_float(x), _CMP_NEQ_OQ);
        const __m256i odd = _mm256_or_si256(cut, _mm256_set1_epi16(1));
        _mm256_storeu_si256(static_cast<__m256i_u*>(p), _mm256_mask_mov_epi16(cut, inexact, odd));
    }
    static Double widen_low(Int x) { return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_castsi512_si256(x))); }
    static Double widen_high(Int x) { return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_extracti64x4_epi64(x, 1))); }
    static Int narrow_odd(Double low, Double high) {
        return _mm512_inserti64x4(_mm512_castsi256_si512(narrow_half_odd(low)), narrow_half_odd(high), 1);
    }

    // Products of matrix units.
    static constexpr bool has_computed_here = true;
    static Int computed_here(Int x) {
        asm("" : "+v"(x));
        return x;
    }
    static Int add_bytes(Int a, Int b) { return _mm512_add_epi8(a, b); }
    static Int sub_bytes(Int a, Int b) { return _mm512_subs_epu8(a, b); }
    static Int max_bytes(Int a, Int b) { return _mm512_max_epu8(a, b); }
    static Int add_words(Int a, Int b) { return _mm512_add_epi16(a, b); }
    static Int sub_words(Int a, Int b) { return _mm512_sub_epi16(a, b); }
    static Int max_words(Int a, Int b) { return _mm512_max_epi16(a, b); }
    static Int mul_add_words(Int a, Int b) { return _mm512_madd_epi16(a, b); }
    static std::uint64_t words_between(Int x, int from, int to) {
        const Int shifted = _mm512_sub_epi16(x, _mm512_set1_epi16(static_cast<short>(from)));
        return _mm512_cmplt_epu16_mask(shifted, _mm512_set1_epi16(static_cast<short>(to - from)));
    }
    static Int zero_where_zero(Int x, Int y) { return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(x, x), y); }
    static Int select_by_sign(Int sign, Int negative, Int positive) {
        return _mm512_mask_mov_epi32(positive, _mm512_movepi32_mask(sign), negative);
    }
    static std::uint64_t sign_bits(Int x) { return _mm512_movepi32_mask(x); }
    static Int or_overflow(Int flags, Int x, Int y, Int total) {
        return bit_or(flags, _mm512_ternarylogic_epi32(x, y, total, 0x42));  // (x ^ total) & (y ^ total)
    }
    static Float to_float_toward_zero(Int x) { return _mm512_cvt_roundepi32_ps(x, zero); }
    static Float to_float_odd(Int x) {
        const Float cut = to_float_toward_zero(x);
        const Mask inexact = _mm512_cmpneq_epi32_mask(truncate(cut), x);
        return as_float(_mm512_mask_or_epi32(as_int(cut), inexact, as_int(cut), set(1)));
    }
    static Float round_to_fp16(Float x) {
        return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    static Double to_double_low(Int x) { return _mm512_cvtepi32_pd(_mm512_castsi512_si256(x)); }
    static Double to_double_high(Int x) { return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1)); }
    static Float floor(Float x) { return _mm512_roundscale_ps(x, down); }
    static Double floor(Double x) { return _mm512_roundscale_pd(x, down); }
    static Double integral(Double x) { return _mm512_roundscale_pd(x, zero); }
    static Float narrow(Double low, Double high) { return joined(_mm512_cvtpd_ps(low), _mm512_cvtpd_ps(high)); }
    static Float narrow_toward_zero(Double low, Double high) {
        return joined(_mm512_cvt_roundpd_ps(low, zero), _mm512_cvt_roundpd_ps(high, zero));
    }
    using Mask64 = __mmask8;
    static Mask64 differ(Double a, Double b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }
    static Mask64 either(Mask64 a, Mask64 b) { return static_cast<Mask64>(a | b); }
    static Double add_exact(Double a, Double b, Mask64& inexact) {
        const Double sum = _mm512_add_round_pd(a, b, up);
        inexact = either(inexact, differ(_mm512_add_round_pd(a, b, down), sum));
        return sum;
    }
    static std::uint64_t bits_of(Mask64 low, Mask64 high) { return low | std::uint64_t{high} << 8; }
    static constexpr bool has_flush = can_flush;
    using FloatMode = vec::FloatMode;

    // 8 lanes of 64 bits.
    struct Wide {
        static constexpr int lanes = 8;
        using Word = std::uint64_t;
        using Kit = Avx512;
        using Int = __m512i;
        using Mask = __mmask8;

        static Int load(const void* p) { return _mm512_loadu_si512(p); }
        static void store(void* p, Int x) { _mm512_storeu_si512(p, x); }
        static void store32(void* p, Int x) {
            _mm256_storeu_si256(static_cast<__m256i_u*>(p), _mm512_cvtepi64_epi32(x));
        }
        static void store16(void* p, Int x) { _mm_storeu_si128(static_cast<__m128i_u*>(p), _mm512_cvtepi64_epi16(x)); }
        static void store8(void* p, Int x) { _mm_storel_epi64(static_cast<__m128i_u*>(p), _mm512_cvtepi64_epi8(x)); }
        static Int set(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
        static Int set(std::int32_t x) { return _mm512_set1_epi64(x); }
        static Int bit_and(Int a, Int b) { return _mm512_and_si512(a, b); }
        static Int bit_or(Int a, Int b) { return _mm512_or_si512(a, b); }
        static Int bit_xor(Int a, Int b) { return _mm512_xor_si512(a, b); }
        static Int and_not(Int a, Int b) { return _mm512_andnot_si512(b, a); }
        static Int add(Int a, Int b) { return _mm512_add_epi64(a, b); }
        static Int sub(Int a, Int b) { return _mm512_sub_epi64(a, b); }
        static Int max(Int a, Int b) { return _mm512_max_epi64(a, b); }
        static Int min(Int a, Int b) { return _mm512_min_epi64(a, b); }
        static Int shift_left(Int a, Int distance) { return _mm512_sllv_epi64(a, distance); }
        static Int shift_right(Int a, Int distance) { return _mm512_srlv_epi64(a, distance); }
        static Int all_sign(Int a) { return _mm512_srai_epi64(a, 63); }
        static Mask greater(Int a, Int b) { return _mm512_cmpgt_epi64_mask(a, b); }
        static Mask greater_unsigned(Int a, Int b) { return _mm512_cmpgt_epu64_mask(a, b); }
        static Mask equal(Int a, Int b) { return _mm512_cmpeq_epi64_mask(a, b); }
        static Int select(Mask mask, Int yes, Int no) { return _mm512_mask_mov_epi64(no, mask, yes); }
        static Int where(Mask mask, Int yes) { return _mm512_maskz_mov_epi64(mask, yes); }
        static bool any(Mask mask) { return mask != 0; }
        static constexpr bool has_integer_part = true;
        static Int integer_part(Int x, Int exponent) {
            return _mm512_cvttpd_epu64(_mm512_scalef_pd(_mm512_castsi512_pd(x), _mm512_castsi512_pd(exponent)));
        }
        /// Words of 32 bits, those of the lower or the upper half of the lanes, in the upper bits of these.
        template <int half>
        static Int from_words(__m512i words) {
            const Int low = _mm512_setr_epi32(0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7);
            const Int places = half == 0 ? low : _mm512_add_epi32(low, _mm512_set1_epi32(8));
            return _mm512_maskz_permutexvar_epi32(0xAAAA, places, words);
        }

        static __m512i lower_words(Int low, Int high) {
            return as_int(_mm512_shuffle_ps(as_float(low), as_float(high), 0x88));
        }

        // Philox: each lane computes a block of four words.
        static Int block_numbers(std::uint64_t first) {
            return add(set(first), _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
        }
        static Int upper(Int x) { return _mm512_srli_epi64(x, 32); }
        static Int xor3(Int a, Int b, Int c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
        static Int mul_lower(Int a, Int b) { return _mm512_mul_epu32(a, b); }
        static Int word_pair(Int product, Int c, Int key) {
            const Int swapped = _mm512_ror_epi64(product, 32);
            return _mm512_mask_ternarylogic_epi32(swapped, 0x5555, c, key, 0x96);
        }
        ///     a0 b0 a4 b4 ...   c0 d0 c4 d4 ...   ->   a0 b0 c0 d0 a1 ...
        static void in_order(Int ab, Int cd, __m512i* words) {
            words[0] = _mm512_unpacklo_epi64(ab, cd);
            words[1] = _mm512_unpackhi_epi64(ab, cd);
        }
    };

  private:
    static Float joined(__m256 low, __m256 high) { return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1); }
    static Float odd(Float toward_zero, Float lower, Float upper) {
        const Int word = as_int(toward_zero);
        const Mask inexact = _mm512_cmp_ps_mask(lower, upper, _CMP_NEQ_OQ);
        return as_float(_mm512_mask_or_epi32(word, inexact, word, set(1)));
    }
    static Double odd(Double toward_zero, Double lower, Double upper) {
        const __m512i word = _mm512_castpd_si512(toward_zero);
        const __mmask8 inexact = _mm512_cmp_pd_mask(lower, upper, _CMP_NEQ_OQ);
        return _mm512_castsi512_pd(_mm512_mask_or_epi64(word, inexact, word, _mm512_set1_epi64(1)));
    }
    static __m256i narrow_half_odd(__m512d x) {
        const __m256 toward_zero = _mm512_cvt_roundpd_ps(x, zero);
        const __mmask8 inexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(toward_zero), x, _CMP_NEQ_OQ);
        const __m256i word = _mm256_castps_si256(toward_zero);
        return _mm256_mask_or_epi32(word, inexact, word, _mm256_set1_epi32(1));
    }
};

}  // namespace
}  // namespace ulp::vec
