// Vectors of AVX2 (with FMA and F16C): 8 lanes of 32 bits. One of the vector kits; docs of the operations stand in
// vec_portable.hpp, remarks here only where the instructions differ.
//
// Included by units compiled for these instructions only: everything is in an unnamed namespace, and includes are few
// (softfloat/vector/simd_choice.hpp says why).
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "softfloat/vector/float_mode.hpp"
#include "softfloat/vector/two_sum.hpp"

namespace ulp::vec {
namespace {

struct Avx2 {
    static constexpr int lanes = 8;
    using Word = std::uint32_t;
    using Kit = Avx2;
    using Int = __m256i;
    using Float = __m256;
    using Double = __m256d;
    using Mask = __m256i;  // all bits of a lane

    // Memory.
    static Int load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i_u*>(p)); }
    static Int load16(const void* p) {
        return _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i_u*>(p)));
    }
    static Int load8(const void* p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i_u*>(p))); }
    static Float load_float(const void* p) { return _mm256_loadu_ps(static_cast<const float*>(p)); }
    static Double load_double(const void* p) { return _mm256_loadu_pd(static_cast<const double*>(p)); }
    static Double load_widened(const void* p) { return _mm256_cvtps_pd(_mm_loadu_ps(static_cast<const float*>(p))); }
    static void store(void* p, Int x) { _mm256_storeu_si256(static_cast<__m256i_u*>(p), x); }
    static void store(void* p, Float x) { _mm256_storeu_ps(static_cast<float*>(p), x); }
    static void store(void* p, Double x) { _mm256_storeu_pd(static_cast<double*>(p), x); }
    static void store16(void* p, Int x) { _mm_storeu_si128(static_cast<__m128i_u*>(p), halves_of(x)); }
    static void store8(void* p, Int x) {
        const __m128i halves = halves_of(x);
        _mm_storel_epi64(static_cast<__m128i_u*>(p), _mm_packus_epi16(halves, halves));
    }
    static Int set(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
    static Int set(std::int32_t x) { return _mm256_set1_epi32(x); }
    static Float set_float(float x) { return _mm256_set1_ps(x); }
    static Double set_double(double x) { return _mm256_set1_pd(x); }
    static Float as_float(Int x) { return _mm256_castsi256_ps(x); }
    static Int as_int(Float x) { return _mm256_castps_si256(x); }

    // Integers of 32 bits.
    static Int bit_and(Int a, Int b) { return _mm256_and_si256(a, b); }
    static Int bit_or(Int a, Int b) { return _mm256_or_si256(a, b); }
    static Int bit_xor(Int a, Int b) { return _mm256_xor_si256(a, b); }
    static Int and_not(Int a, Int b) { return _mm256_andnot_si256(b, a); }
    static Int xor3(Int a, Int b, Int c) { return bit_xor(bit_xor(a, b), c); }
    static Int majority(Int a, Int b, Int c) { return bit_or(bit_and(a, b), bit_and(bit_xor(a, b), c)); }
    static Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }
    static Int sub(Int a, Int b) { return _mm256_sub_epi32(a, b); }
    static Int max(Int a, Int b) { return _mm256_max_epi32(a, b); }
    static Int min(Int a, Int b) { return _mm256_min_epi32(a, b); }
    static Int shift_left(Int a, Int distance) { return _mm256_sllv_epi32(a, distance); }
    static Int shift_right(Int a, Int distance) { return _mm256_srlv_epi32(a, distance); }
    template <unsigned n>
    static Int shift_left(Int a) {
        return _mm256_slli_epi32(a, static_cast<int>(n));
    }
    template <unsigned n>
    static Int shift_right(Int a) {
        return _mm256_srli_epi32(a, static_cast<int>(n));
    }
    static Int all_sign(Int a) { return _mm256_srai_epi32(a, 31); }

    // Masks.
    static Mask greater(Int a, Int b) { return _mm256_cmpgt_epi32(a, b); }
    static Mask greater_unsigned(Int a, Int b) {
        const Int flip = set(0x80000000);
        return greater(bit_xor(a, flip), bit_xor(b, flip));
    }
    static Mask equal(Int a, Int b) { return _mm256_cmpeq_epi32(a, b); }
    static Int select(Mask mask, Int yes, Int no) { return _mm256_blendv_epi8(no, yes, mask); }
    static Int where(Mask mask, Int yes) { return bit_and(mask, yes); }
    static Mask none() { return _mm256_setzero_si256(); }
    static Mask either(Mask a, Mask b) { return bit_or(a, b); }
    static bool any(Mask mask) { return _mm256_testz_si256(mask, mask) == 0; }
    static bool any(Mask a, Mask b) { return any(either(a, b)); }

    // fp32 and fp64 in the rounding of the processor's control register.
    static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
    static Float sub(Float a, Float b) { return _mm256_sub_ps(a, b); }
    static Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
    static Float div(Float a, Float b) { return _mm256_div_ps(a, b); }
    static Float sqrt(Float a) { return _mm256_sqrt_ps(a); }
    static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
    static Double add(Double a, Double b) { return _mm256_add_pd(a, b); }
    static Double sub(Double a, Double b) { return _mm256_sub_pd(a, b); }
    static Double mul(Double a, Double b) { return _mm256_mul_pd(a, b); }
    static Double div(Double a, Double b) { return _mm256_div_pd(a, b); }
    static Double sqrt(Double a) { return _mm256_sqrt_pd(a); }
    static Double fma(Double a, Double b, Double c) { return _mm256_fmadd_pd(a, b, c); }

    static constexpr bool has_fast_fma = true;
    static Float fnma(Float a, Float b, Float c) { return _mm256_fnmadd_ps(a, b, c); }
    static Float larger_magnitude(Float a, Float b) { return select_by_magnitude(a, b, a, b); }
    static Float smaller_magnitude(Float a, Float b) { return select_by_magnitude(a, b, b, a); }
    static Int at_least(Int x, Int least) {
        const Int sign = set(0x80000000);
        return bit_or(max(and_not(x, sign), least), bit_and(x, sign));
    }
    static Mask subnormal(Float x) {
        const Int word = as_int(x);
        return greater(set(0x00800000), bit_and(word, set(0x7FFFFFFF)));
    }

    static unsigned sign_bits(Double x) { return static_cast<unsigned>(_mm256_movemask_pd(x)); }

    // Roundings of single instructions.
    static constexpr int zero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    static constexpr int down = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    static constexpr int up = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;

    // To odd: see vec_portable.hpp.
    static constexpr bool adds_to_odd_everywhere = false;
    static Float add_to_odd(Float a, Float b) { return two_sum_to_odd<Avx2>(a, b); }
    static Double add_to_odd(Double a, Double b) { return two_sum_to_odd<Avx2>(a, b); }
    static Float fma_to_odd(Float a, Float b, Float c) { return add_to_odd(mul(a, b), c); }
    static Double fma_to_odd(Double a, Double b, Double c) { return add_to_odd(mul(a, b), c); }
    static Float to_odd(Float x, Float error) {
        const Int word = as_int(x);
        const Int inexact = as_int(_mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_NEQ_OQ));
        const Int even = equal(bit_and(word, set(1)), set(0));
        const Int step = bit_or(all_sign(bit_xor(word, as_int(error))), set(1));
        return as_float(add(word, bit_and(bit_and(inexact, even), step)));
    }
    static Double to_odd(Double x, Double error) {
        const __m256i word = _mm256_castpd_si256(x);
        const __m256i one = _mm256_set1_epi64x(1);
        const __m256i inexact = _mm256_castpd_si256(_mm256_cmp_pd(error, _mm256_setzero_pd(), _CMP_NEQ_OQ));
        const __m256i even = _mm256_cmpeq_epi64(bit_and(word, one), set(0));
        const __m256i differ = bit_xor(word, _mm256_castpd_si256(error));
        const __m256i step = bit_or(_mm256_cmpgt_epi64(set(0), differ), one);
        return _mm256_castsi256_pd(_mm256_add_epi64(word, bit_and(bit_and(inexact, even), step)));
    }

    static Double div_to_odd(Double a, Double b) {
        const Double quotient = div(a, b);
        const Double rest = _mm256_fnmadd_pd(quotient, b, a);  // the error's sign is its sign, over that of b
        const Double sign = _mm256_and_pd(b, set_double(-0.0));
        return to_odd(quotient, _mm256_xor_pd(rest, sign));
    }
    static Double sqrt_to_odd(Double a) {
        const Double root = sqrt(a);
        return to_odd(root, _mm256_fnmadd_pd(root, root, a));
    }
    static Double or_sign_of_zero(Double x, Double sign) {
        return _mm256_or_pd(x, _mm256_and_pd(sign, _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ)));
    }

    // Conversions.
    static Float to_float(Int x) { return _mm256_cvtepi32_ps(x); }
    static Int truncate(Float x) { return _mm256_cvttps_epi32(x); }
    static constexpr unsigned fraction_digits = 24;
    static Float fraction_to_float(Int x) { return to_float(shift_right<8>(x)); }
    static Int canonical_nan(Int x) {
        const Mask nan = as_int(_mm256_cmp_ps(as_float(x), as_float(x), _CMP_UNORD_Q));
        return select(nan, set(0x7FC00000), x);
    }
    static constexpr bool has_integer_part = false;
    static constexpr bool has_half = true;
    static Int load_half(const void* p) {
        return as_int(_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i_u*>(p))));
    }
    template <int rounding = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC>
    static void store_half(void* p, Int x) {
        const __m128i halves = _mm256_cvtps_ph(as_float(x), rounding);
        _mm_storeu_si128(static_cast<__m128i_u*>(p), halves);
    }
    static void store_half_odd(void* p, Int x) {
        const __m128i cut = _mm256_cvtps_ph(as_float(x), zero);
        const Int inexact = as_int(_mm256_cmp_ps(_mm256_cvtph_ps(cut), as_float(x), _CMP_NEQ_OQ));
        const __m128i last = _mm_and_si128(halves_of(shift_right<16>(inexact)), _mm_set1_epi16(1));
        _mm_storeu_si128(static_cast<__m128i_u*>(p), _mm_or_si128(cut, last));
    }
    static Double widen_low(Int x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(as_float(x))); }
    static Double widen_high(Int x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(as_float(x), 1)); }
    static Int narrow_odd(Double low, Double high) {
        return _mm256_set_m128i(narrow_half_odd(high), narrow_half_odd(low));
    }

    // Products of matrix units.
    static constexpr bool has_computed_here = true;
    static Int computed_here(Int x) {
        asm("" : "+x"(x));
        return x;
    }
    static Int add_bytes(Int a, Int b) { return _mm256_add_epi8(a, b); }
    static Int sub_bytes(Int a, Int b) { return _mm256_subs_epu8(a, b); }
    static Int max_bytes(Int a, Int b) { return _mm256_max_epu8(a, b); }
    static Int add_words(Int a, Int b) { return _mm256_add_epi16(a, b); }
    static Int sub_words(Int a, Int b) { return _mm256_sub_epi16(a, b); }
    static Int max_words(Int a, Int b) { return _mm256_max_epi16(a, b); }
    static Int mul_add_words(Int a, Int b) { return _mm256_madd_epi16(a, b); }
    static std::uint64_t words_between(Int x, int from, int to) {
        const Int low = _mm256_cmpgt_epi16(x, _mm256_set1_epi16(static_cast<short>(from - 1)));
        const Int high = _mm256_cmpgt_epi16(_mm256_set1_epi16(static_cast<short>(to)), x);
        // Pack 16-bit masks to bytes; the pack works within halves, so the middle quarters are swapped back.
        const Int packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(bit_and(low, high), set(0)), 0xD8);
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(packed)) & 0xFFFFU;
    }
    static Int zero_where_zero(Int x, Int y) { return _mm256_andnot_si256(equal(x, set(0)), y); }
    static Int select_by_sign(Int sign, Int negative, Int positive) {
        return as_int(_mm256_blendv_ps(as_float(positive), as_float(negative), as_float(sign)));
    }
    static std::uint64_t sign_bits(Int x) { return static_cast<std::uint32_t>(_mm256_movemask_ps(as_float(x))); }
    static Int or_overflow(Int flags, Int x, Int y, Int total) {
        return bit_or(flags, bit_and(bit_xor(x, total), bit_xor(y, total)));
    }
    static Float to_float_toward_zero(Int x) { return to_float(x); }
    static Float to_float_odd(Int x) { return narrow(cut_to_odd(to_double_low(x)), cut_to_odd(to_double_high(x))); }
    static Float round_to_fp16(Float x) {
        return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    static Double to_double_low(Int x) { return _mm256_cvtepi32_pd(_mm256_castsi256_si128(x)); }
    static Double to_double_high(Int x) { return _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1)); }
    static Float floor(Float x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
    static Double floor(Double x) { return _mm256_round_pd(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
    static Double integral(Double x) { return _mm256_round_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
    static Float narrow(Double low, Double high) {
        return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
    }
    static Float narrow_toward_zero(Double low, Double high) { return narrow(cut(low), cut(high)); }
    using Mask64 = __m256d;
    static Mask64 differ(Double a, Double b) { return _mm256_cmp_pd(a, b, _CMP_NEQ_UQ); }
    static Mask64 either(Mask64 a, Mask64 b) { return _mm256_or_pd(a, b); }
    static Double add_exact(Double a, Double b, Mask64& inexact) {
        const Double sum = add(a, b);
        inexact = either(inexact, either(differ(sub(sum, a), b), differ(sub(sum, b), a)));
        return sum;
    }
    static std::uint64_t bits_of(Mask64 low, Mask64 high) {
        return static_cast<std::uint32_t>(_mm256_movemask_pd(low) | _mm256_movemask_pd(high) << 4);
    }
    static constexpr bool has_flush = can_flush;
    using FloatMode = vec::FloatMode;

    // 4 lanes of 64 bits.
    struct Wide {
        static constexpr int lanes = 4;
        using Word = std::uint64_t;
        using Kit = Avx2;
        using Int = __m256i;
        using Mask = __m256i;  // all bits of a lane

        static Int load(const void* p) { return Avx2::load(p); }
        static void store(void* p, Int x) { Avx2::store(p, x); }
        static void store32(void* p, Int x) { _mm_storeu_si128(static_cast<__m128i_u*>(p), lower_words(x)); }
        static void store16(void* p, Int x) {
            const __m128i words = lower_words(x);
            _mm_storel_epi64(static_cast<__m128i_u*>(p), _mm_packus_epi32(words, words));
        }
        static void store8(void* p, Int x) {
            const __m128i words = lower_words(x);
            const __m128i halves = _mm_packus_epi32(words, words);
            const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(halves, halves));
            __builtin_memcpy(p, &bytes, sizeof bytes);
        }
        static Int set(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
        static Int set(std::int32_t x) { return _mm256_set1_epi64x(x); }
        static Int bit_and(Int a, Int b) { return _mm256_and_si256(a, b); }
        static Int bit_or(Int a, Int b) { return _mm256_or_si256(a, b); }
        static Int bit_xor(Int a, Int b) { return _mm256_xor_si256(a, b); }
        static Int and_not(Int a, Int b) { return _mm256_andnot_si256(b, a); }
        static Int add(Int a, Int b) { return _mm256_add_epi64(a, b); }
        static Int sub(Int a, Int b) { return _mm256_sub_epi64(a, b); }
        static Int max(Int a, Int b) { return select(greater(a, b), a, b); }
        static Int min(Int a, Int b) { return select(greater(a, b), b, a); }
        static Int shift_left(Int a, Int distance) { return _mm256_sllv_epi64(a, distance); }
        static Int shift_right(Int a, Int distance) { return _mm256_srlv_epi64(a, distance); }
        static Int all_sign(Int a) { return greater(set(0), a); }
        static Mask greater(Int a, Int b) { return _mm256_cmpgt_epi64(a, b); }
        static Mask greater_unsigned(Int a, Int b) {
            const Int flip = set(std::uint64_t{1} << 63);
            return greater(bit_xor(a, flip), bit_xor(b, flip));
        }
        static Mask equal(Int a, Int b) { return _mm256_cmpeq_epi64(a, b); }
        static Int select(Mask mask, Int yes, Int no) { return _mm256_blendv_epi8(no, yes, mask); }
        static Int where(Mask mask, Int yes) { return bit_and(mask, yes); }
        static bool any(Mask mask) { return Avx2::any(mask); }
        static constexpr bool has_integer_part = false;
        template <int half>
        static Int from_words(__m256i words) {
            return _mm256_slli_epi64(_mm256_cvtepu32_epi64(_mm256_extracti128_si256(words, half)), 32);
        }

        static __m256i lower_words(Int low, Int high) {
            return as_int(_mm256_shuffle_ps(as_float(low), as_float(high), 0x88));
        }

        // Philox: each lane computes a block of four words.
        static Int block_numbers(std::uint64_t first) { return add(set(first), _mm256_setr_epi64x(0, 2, 1, 3)); }
        static Int upper(Int x) { return _mm256_srli_epi64(x, 32); }
        static Int xor3(Int a, Int b, Int c) { return bit_xor(bit_xor(a, b), c); }
        static Int mul_lower(Int a, Int b) { return _mm256_mul_epu32(a, b); }
        static Int word_pair(Int product, Int c, Int key) {
            const Int swapped = _mm256_shuffle_epi32(product, 0xB1);
            return _mm256_blend_epi32(xor3(swapped, c, key), swapped, 0xAA);
        }
        static void in_order(Int ab, Int cd, __m256i* words) {
            words[0] = _mm256_unpacklo_epi64(ab, cd);
            words[1] = _mm256_unpackhi_epi64(ab, cd);
        }

      private:
        static __m128i lower_words(Int x) {
            return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
        }
    };

  private:
    /// Where |a| is larger, `yes`.
    static Float select_by_magnitude(Float a, Float b, Float yes, Float no) {
        const Float no_sign = as_float(set(0x7FFFFFFF));
        const Float larger = _mm256_cmp_ps(_mm256_and_ps(a, no_sign), _mm256_and_ps(b, no_sign), _CMP_GT_OQ);
        return _mm256_blendv_ps(no, yes, larger);
    }
    static constexpr long long low_bits = (1LL << 29) - 1;
    static Double cut(Double x) { return _mm256_andnot_pd(_mm256_castsi256_pd(_mm256_set1_epi64x(low_bits)), x); }
    static Double cut_to_odd(Double x) {
        const Int rest = bit_and(_mm256_castpd_si256(x), _mm256_set1_epi64x(low_bits));
        const Int last = and_not(_mm256_set1_epi64x(low_bits + 1), _mm256_cmpeq_epi64(rest, set(0)));
        return _mm256_or_pd(cut(x), _mm256_castsi256_pd(last));
    }
    static __m128i narrow_half_odd(Double x) {
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
    static __m128i halves_of(Int x) {
        return _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    }
};

}  // namespace
}  // namespace ulp::vec
