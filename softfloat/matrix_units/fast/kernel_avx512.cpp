// The kernels for AVX-512 (F, BW, DQ, VL). Compiled with its own flags (ulplab_simd_source).
#include <immintrin.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "softfloat/matrix_units/fast/panel.hpp"

namespace {

struct S {
    static constexpr int lanes = 16;
    using Float = __m512;
    using Int = __m512i;

    static Int load(const std::uint32_t* p) { return _mm512_loadu_si512(p); }
    static Float load_float(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, Int x) { _mm512_storeu_si512(p, x); }
    static void store(std::uint32_t* p, Int x) { _mm512_storeu_si512(p, x); }
    static Int set(std::int32_t x) { return _mm512_set1_epi32(x); }
    static Int broadcast(std::uint32_t x) { return _mm512_set1_epi32(static_cast<std::int32_t>(x)); }
    static Float set_float(float x) { return _mm512_set1_ps(x); }
    static Float broadcast_float(float x) { return _mm512_set1_ps(x); }
    static Int as_int(Float x) { return _mm512_castps_si512(x); }
    static Float as_float(Int x) { return _mm512_castsi512_ps(x); }

    static Int add(Int x, Int y) { return _mm512_add_epi32(x, y); }
    static Int sub(Int x, Int y) { return _mm512_sub_epi32(x, y); }
    static Int max(Int x, Int y) { return _mm512_max_epi32(x, y); }
    static Int bit_and(Int x, Int y) { return _mm512_and_si512(x, y); }
    static Int bit_or(Int x, Int y) { return _mm512_or_si512(x, y); }
    static Int bit_xor(Int x, Int y) { return _mm512_xor_si512(x, y); }
    template <int n>
    static Int shift_left(Int x) {
        return _mm512_slli_epi32(x, n);
    }
    template <int n>
    static Int shift_right(Int x) {
        return _mm512_srli_epi32(x, n);
    }
    static Int add_bytes(Int x, Int y) { return _mm512_add_epi8(x, y); }
    static Int max_bytes(Int x, Int y) { return _mm512_max_epu8(x, y); }
    static Int add_words(Int x, Int y) { return _mm512_add_epi16(x, y); }
    static Int sub_words(Int x, Int y) { return _mm512_sub_epi16(x, y); }
    static Int max_words(Int x, Int y) { return _mm512_max_epi16(x, y); }
    /// Bit i: 16-bit element i is at least `from` and less than `to`.
    static std::uint64_t words_between(Int x, int from, int to) {
        const Int shifted = _mm512_sub_epi16(x, _mm512_set1_epi16(static_cast<short>(from)));
        return _mm512_cmplt_epu16_mask(shifted, _mm512_set1_epi16(static_cast<short>(to - from)));
    }
    /// y where x is not 0, else 0.
    static Int zero_where_zero(Int x, Int y) { return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(x, x), y); }
    static Int select_by_sign(Int sign, Int negative, Int positive) {
        return _mm512_mask_mov_epi32(positive, _mm512_movepi32_mask(sign), negative);
    }
    static std::uint64_t sign_bits(Int x) { return _mm512_movepi32_mask(x); }
    /// Sets the sign bit of `flags` where x + y = total overflowed.
    static Int or_overflow(Int flags, Int x, Int y, Int total) {
        return bit_or(flags, _mm512_ternarylogic_epi32(x, y, total, 0x42));  // (x ^ total) & (y ^ total)
    }

    static Float mul(Float x, Float y) { return _mm512_mul_ps(x, y); }
    static Int truncate(Float x) { return _mm512_cvttps_epi32(x); }
    static Float to_float(Int x) { return _mm512_cvtepi32_ps(x); }
    static Float to_float_toward_zero(Int x) {
        return _mm512_cvt_roundepi32_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    }
    /// Toward zero, with the last bit set if anything was cut: safe before a second rounding.
    static Float to_float_odd(Int x) {
        const Float cut = to_float_toward_zero(x);
        const __mmask16 inexact = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(cut), x);
        return as_float(_mm512_mask_or_epi32(as_int(cut), inexact, as_int(cut), set(1)));
    }
    static Float round_to_fp16(Float x) {
        return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }

    /// Results below the normal range of fp32 become zero while it lives.
    struct FlushResults {
        unsigned before = _mm_getcsr();
        FlushResults() { _mm_setcsr(before | _MM_FLUSH_ZERO_ON); }
        ~FlushResults() { _mm_setcsr(before); }
        FlushResults(const FlushResults&) = delete;
        FlushResults& operator=(const FlushResults&) = delete;
    };
};

#include "softfloat/matrix_units/fast/kernel.ipp"

}  // namespace

namespace ulp::fast {
constinit const Kernels Kernels::avx512 = make_kernels("avx512");
}
