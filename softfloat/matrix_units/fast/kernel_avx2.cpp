// The kernels for AVX2 with F16C. Compiled with its own flags (ulplab_simd_source).
#include <immintrin.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "softfloat/matrix_units/fast/panel.hpp"

namespace {

struct S {
    static constexpr int lanes = 8;
    using Float = __m256;
    using Int = __m256i;

    static Int load(const std::uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
    static Float load_float(const float* p) { return _mm256_loadu_ps(p); }
    static void store(float* p, Int x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
    static void store(std::uint32_t* p, Int x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
    static Int set(std::int32_t x) { return _mm256_set1_epi32(x); }
    static Int broadcast(std::uint32_t x) { return _mm256_set1_epi32(static_cast<std::int32_t>(x)); }
    static Float set_float(float x) { return _mm256_set1_ps(x); }
    static Float broadcast_float(float x) { return _mm256_set1_ps(x); }
    static Int as_int(Float x) { return _mm256_castps_si256(x); }
    static Float as_float(Int x) { return _mm256_castsi256_ps(x); }

    static Int add(Int x, Int y) { return _mm256_add_epi32(x, y); }
    static Int sub(Int x, Int y) { return _mm256_sub_epi32(x, y); }
    static Int max(Int x, Int y) { return _mm256_max_epi32(x, y); }
    static Int bit_and(Int x, Int y) { return _mm256_and_si256(x, y); }
    static Int bit_or(Int x, Int y) { return _mm256_or_si256(x, y); }
    static Int bit_xor(Int x, Int y) { return _mm256_xor_si256(x, y); }
    template <int n>
    static Int shift_left(Int x) {
        return _mm256_slli_epi32(x, n);
    }
    template <int n>
    static Int shift_right(Int x) {
        return _mm256_srli_epi32(x, n);
    }
    static Int add_bytes(Int x, Int y) { return _mm256_add_epi8(x, y); }
    static Int max_bytes(Int x, Int y) { return _mm256_max_epu8(x, y); }
    static Int add_words(Int x, Int y) { return _mm256_add_epi16(x, y); }
    static Int sub_words(Int x, Int y) { return _mm256_sub_epi16(x, y); }
    static Int max_words(Int x, Int y) { return _mm256_max_epi16(x, y); }
    /// Bit i: 16-bit element i is at least `from` and less than `to`.
    static std::uint64_t words_between(Int x, int from, int to) {
        const Int low = _mm256_cmpgt_epi16(x, _mm256_set1_epi16(static_cast<short>(from - 1)));
        const Int high = _mm256_cmpgt_epi16(_mm256_set1_epi16(static_cast<short>(to)), x);
        // Pack 16-bit masks to bytes; the pack works within halves, so the middle quarters are swapped back.
        const Int both = _mm256_and_si256(low, high);
        const Int packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(both, _mm256_setzero_si256()), 0xD8);
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(packed)) & 0xFFFFU;
    }
    /// y where x is not 0, else 0.
    static Int zero_where_zero(Int x, Int y) {
        return _mm256_andnot_si256(_mm256_cmpeq_epi32(x, _mm256_setzero_si256()), y);
    }
    static Int select_by_sign(Int sign, Int negative, Int positive) {
        return as_int(_mm256_blendv_ps(as_float(positive), as_float(negative), as_float(sign)));
    }
    static std::uint64_t sign_bits(Int x) { return static_cast<std::uint32_t>(_mm256_movemask_ps(as_float(x))); }
    /// Sets the sign bit of `flags` where x + y = total overflowed.
    static Int or_overflow(Int flags, Int x, Int y, Int total) {
        return bit_or(flags, bit_and(bit_xor(x, total), bit_xor(y, total)));
    }

    static Float mul(Float x, Float y) { return _mm256_mul_ps(x, y); }
    static Int truncate(Float x) { return _mm256_cvttps_epi32(x); }
    static Float to_float(Int x) { return _mm256_cvtepi32_ps(x); }

    // An int32 is exact in fp64; without the low 29 bits of its significand it is an fp32 number, cut toward zero.
    static constexpr long long low_bits = (1LL << 29) - 1;
    static Float joined(__m256d low, __m256d high) {
        return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
    }
    static __m256d wide_half(Int x, int half) {
        return _mm256_cvtepi32_pd(half == 0 ? _mm256_castsi256_si128(x) : _mm256_extracti128_si256(x, 1));
    }
    static __m256d cut(__m256d x) { return _mm256_andnot_pd(_mm256_castsi256_pd(_mm256_set1_epi64x(low_bits)), x); }
    static Float to_float_toward_zero(Int x) { return joined(cut(wide_half(x, 0)), cut(wide_half(x, 1))); }
    static __m256d cut_to_odd(__m256d x) {
        const Int rest = _mm256_and_si256(_mm256_castpd_si256(x), _mm256_set1_epi64x(low_bits));
        const Int exact = _mm256_cmpeq_epi64(rest, _mm256_setzero_si256());
        const Int last = _mm256_andnot_si256(exact, _mm256_set1_epi64x(low_bits + 1));
        return _mm256_or_pd(cut(x), _mm256_castsi256_pd(last));
    }
    /// Toward zero, with the last bit set if anything was cut: safe before a second rounding.
    static Float to_float_odd(Int x) { return joined(cut_to_odd(wide_half(x, 0)), cut_to_odd(wide_half(x, 1))); }
    static Float round_to_fp16(Float x) {
        return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
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
constinit const Kernels Kernels::avx2 = make_kernels("avx2");
}
