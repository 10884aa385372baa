// Eight 32-bit lanes: the operations that the kernels are written in. See lanes_avx512.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "softfloat/array/two_sum.hpp"

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
    static Word min_signed(Word a, Word b) { return _mm256_min_epi32(a, b); }
    static constexpr bool has_integer_part = false;

    static Mask greater_signed(Word a, Word b) { return _mm256_cmpgt_epi32(a, b); }
    static Mask greater_unsigned(Word a, Word b) {
        const Word flip = set(0x80000000);
        return greater_signed(differ(a, flip), differ(b, flip));
    }
    static Mask equal(Word a, Word b) { return _mm256_cmpeq_epi32(a, b); }
    static Word select(Mask mask, Word yes, Word no) { return _mm256_blendv_epi8(no, yes, mask); }
    static Word where(Mask mask, Word yes) { return both(mask, yes); }
    static bool any(Mask mask) { return _mm256_testz_si256(mask, mask) == 0; }

    // Philox: each lane of 64 bits computes a block of four words. See lanes_avx512.hpp.
    using Word64 = __m256i;
    static constexpr int blocks = 4;
    static Word64 set64(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
    static Word64 block_numbers(std::uint64_t first) {
        return _mm256_add_epi64(set64(first), _mm256_setr_epi64x(0, 2, 1, 3));
    }
    static Word64 upper(Word64 x) { return _mm256_srli_epi64(x, 32); }
    static Word64 differ64(Word64 a, Word64 b, Word64 c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
    static Word64 product(Word64 a, Word64 b) { return _mm256_mul_epu32(a, b); }
    static void in_order(Word64 a, Word64 b, Word64 c, Word64 d, Word* words) {
        const Word ab = _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA);
        const Word cd = _mm256_blend_epi32(c, _mm256_slli_epi64(d, 32), 0xAA);
        words[0] = _mm256_unpacklo_epi64(ab, cd);
        words[1] = _mm256_unpackhi_epi64(ab, cd);
    }

    /// fp32 arithmetic in the rounding of the processor's control register.
    struct Single {
        using Reg = __m256;
        static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
        static Reg subtract(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
        static Reg multiply(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
        static Reg divide(Reg a, Reg b) { return _mm256_div_ps(a, b); }
        static Reg sqrt(Reg a) { return _mm256_sqrt_ps(a); }
        static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
        static Reg add_to_odd(Reg a, Reg b) { return two_sum_to_odd<Single>(a, b); }
        /// The product must be exact.
        static Reg fma_to_odd(Reg a, Reg b, Reg c) { return add_to_odd(multiply(a, b), c); }
        /// x, rounded to nearest even from x + error, as if rounded to odd. NaNs and infinities have error NaN.
        static Reg to_odd(Reg x, Reg error) {
            const Word word = word_of(x);
            const Word inexact = word_of(_mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_NEQ_OQ));
            const Word even = _mm256_cmpeq_epi32(both(word, set(1)), set(0));
            const Word step = either(all_sign(differ(word, word_of(error))), set(1));
            return single_of(Avx2::add(word, both(both(inexact, even), step)));
        }
    };
    static Single::Reg single_of(Word x) { return _mm256_castsi256_ps(x); }
    static Word word_of(Single::Reg x) { return _mm256_castps_si256(x); }
    static Single::Reg from_integer(Word x) { return _mm256_cvtepi32_ps(x); }
    static Word canonical_nan(Word x) {
        const Mask nan = word_of(_mm256_cmp_ps(single_of(x), single_of(x), _CMP_UNORD_Q));
        return select(nan, set(0x7FC00000), x);
    }
    static constexpr bool has_half = true;
    /// fp16, exact but for the bits of NaNs.
    static Word load_half(const void* p) {
        return word_of(_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i_u*>(p))));
    }
    /// Rounded to nearest even.
    static void store_half(void* p, Word x) {
        const __m128i halves = _mm256_cvtps_ph(single_of(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm_storeu_si128(static_cast<__m128i_u*>(p), halves);
    }

    /// fp64 arithmetic on half as many lanes.
    struct Double {
        using Reg = __m256d;
        static Reg add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
        static Reg subtract(Reg a, Reg b) { return _mm256_sub_pd(a, b); }
        static Reg multiply(Reg a, Reg b) { return _mm256_mul_pd(a, b); }
        static Reg divide(Reg a, Reg b) { return _mm256_div_pd(a, b); }
        static Reg sqrt(Reg a) { return _mm256_sqrt_pd(a); }
        static Reg add_to_odd(Reg a, Reg b) { return two_sum_to_odd<Double>(a, b); }
        static Reg fma_to_odd(Reg a, Reg b, Reg c) { return add_to_odd(multiply(a, b), c); }
        static Reg to_odd(Reg x, Reg error) {
            const __m256i word = _mm256_castpd_si256(x);
            const __m256i zero = _mm256_setzero_si256();
            const __m256i one = _mm256_set1_epi64x(1);
            const __m256i inexact = _mm256_castpd_si256(_mm256_cmp_pd(error, _mm256_setzero_pd(), _CMP_NEQ_OQ));
            const __m256i even = _mm256_cmpeq_epi64(_mm256_and_si256(word, one), zero);
            const __m256i differ = _mm256_xor_si256(word, _mm256_castpd_si256(error));
            const __m256i step = _mm256_or_si256(_mm256_cmpgt_epi64(zero, differ), one);
            const __m256i change = _mm256_and_si256(_mm256_and_si256(inexact, even), step);
            return _mm256_castsi256_pd(_mm256_add_epi64(word, change));
        }
    };
    static Double::Reg widen_low(Word x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(single_of(x))); }
    static Double::Reg widen_high(Word x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(single_of(x), 1)); }
    /// Rounded to odd in fp32. Beyond fp32's range: the largest number, which is odd.
    static Word narrow_odd(Double::Reg low, Double::Reg high) {
        return _mm256_set_m128i(narrow_half_odd(high), narrow_half_odd(low));
    }
    /// fp64 in memory, rounded to odd in fp32.
    static Word load_narrow_odd(const void* p) {
        const auto* doubles = static_cast<const double*>(p);
        return narrow_odd(_mm256_loadu_pd(doubles), _mm256_loadu_pd(doubles + 4));
    }
    static void store_widened(void* p, Word x) {
        auto* doubles = static_cast<double*>(p);
        _mm256_storeu_pd(doubles, widen_low(x));
        _mm256_storeu_pd(doubles + 4, widen_high(x));
    }

  private:
    static __m128i narrow_half_odd(Double::Reg x) {
        const __m128 nearest = _mm256_cvtpd_ps(x);
        const __m256d back = _mm256_cvtps_pd(nearest);
        const __m256d no_sign = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7FFFFFFFFFFFFFFF));
        const __m256d inexact = _mm256_cmp_pd(back, x, _CMP_NEQ_OQ);
        const __m256d above = _mm256_cmp_pd(_mm256_and_pd(back, no_sign), _mm256_and_pd(x, no_sign), _CMP_GT_OQ);
        const __m128i toward_zero = _mm_add_epi32(_mm_castps_si128(nearest), narrow_mask(above));
        return _mm_or_si128(toward_zero, _mm_and_si128(narrow_mask(inexact), _mm_set1_epi32(1)));
    }
    static __m128i narrow_mask(__m256d mask) {
        const __m128 low = _mm_castpd_ps(_mm256_castpd256_pd128(mask));
        const __m128 high = _mm_castpd_ps(_mm256_extractf128_pd(mask, 1));
        return _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
    }
    static __m128i halves_of(Word x) {
        return _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    }
};

}  // namespace
}  // namespace ulp::array
