// Arithmetic on fp16 by the instructions of AVX512-FP16, in the rounding of the processor's control register.
#include <immintrin.h>

#include "softfloat/array/kernels/native_half.hpp"

namespace ulp::array {
namespace {

constexpr std::size_t width = 32;

/// The first `count` halves.
__m512h load(const unsigned char* p, __mmask32 count) {
    return _mm512_castsi512_ph(_mm512_maskz_loadu_epi16(count, p));
}

template <Operation op>
__m512h compute(__m512h a, __m512h b, __m512h c) {
    if constexpr (op == op_add) return _mm512_add_ph(a, b);
    if constexpr (op == op_subtract) return _mm512_sub_ph(a, b);
    if constexpr (op == op_multiply) return _mm512_mul_ph(a, b);
    if constexpr (op == op_divide) return _mm512_div_ph(a, b);
    if constexpr (op == op_sqrt) return _mm512_sqrt_ph(a);
    if constexpr (op == op_fma) return _mm512_fmadd_ph(a, b, c);
}

template <Operation op>
void operate_native(const RoundingPlan&, const void* a, const void* b, const void* c, void* out, std::size_t count) {
    const auto* pa = static_cast<const unsigned char*>(a);
    const auto* pb = static_cast<const unsigned char*>(op == op_sqrt ? a : b);
    const auto* pc = static_cast<const unsigned char*>(op == op_fma ? c : a);
    auto* to = static_cast<unsigned char*>(out);
    const __m512i quiet_nan = _mm512_set1_epi16(0x7E00);
    for (std::size_t i = 0; i < count; i += width) {
        const std::size_t left = count - i;
        const __mmask32 lanes = left >= width ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
        const __m512h result = compute<op>(load(pa + 2 * i, lanes), load(pb + 2 * i, lanes), load(pc + 2 * i, lanes));
        const __mmask32 nan = _mm512_cmp_ph_mask(result, result, _CMP_UNORD_Q);
        _mm512_mask_storeu_epi16(to + 2 * i, lanes, _mm512_mask_mov_epi16(_mm512_castph_si512(result), nan, quiet_nan));
    }
}

}  // namespace

constexpr ArithmeticKernel native_half_kernels[operations] = {operate_native<op_add>,      operate_native<op_subtract>,
                                                              operate_native<op_multiply>, operate_native<op_divide>,
                                                              operate_native<op_sqrt>,     operate_native<op_fma>};

}  // namespace ulp::array
