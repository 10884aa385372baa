// Block-scaled instructions on FP4: 16 products are added exactly as integers, the sum is multiplied by both scales,
// and these few terms are aligned with c in fp64, which holds them and their sum exactly (block_scaled.hpp). A template
// over a vector kit `V` (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/kernels_integer.hpp"

namespace ulp::gemm_kernels {
namespace {

/// One instruction, one row and one vector of columns.
template <class V>
struct Fp4Terms {
    typename V::Int units[fp4_terms];  // sums of 16 products, in units of the smallest product
};

template <class V>
[[gnu::always_inline]] inline typename V::Double cut_term(typename V::Double units, double row_scale,
                                                          typename V::Double column_scale, typename V::Double align) {
    return V::integral(V::mul(V::mul(units, V::mul(V::set_double(row_scale), column_scale)), align));
}

template <class V>
[[gnu::always_inline]] inline void fp4_vector(const Fp4Task& task, const Fp4Terms<V>& terms, const float* row_scales,
                                              const std::int32_t* row_exponents, const float* column_scales,
                                              const std::int32_t* column_exponents, float* c, typename V::Int& wrong) {
    auto addend = V::load(c);
    // The largest exponent, as a field of fp32: scales count, whatever their products sum up to.
    auto largest = V::max(V::template shift_right<23>(V::bit_and(addend, V::set(exponent_mask))), V::set(1));
    unrolled<fp4_terms>([&](auto t) {
        const auto exponent = V::add(V::set(row_exponents[t]), V::load(column_exponents + t * panel_width<V>));
        largest = V::max(largest, V::add(exponent, V::set(127)));
    });
    wrong =
        V::bit_or(wrong, V::bit_or(V::sub(largest, V::set(lowest_field + 5)), V::sub(V::set(highest_field), largest)));
    largest = V::min(V::max(largest, V::set(lowest_field + 5)), V::set(highest_field));
    const auto align = V::template shift_left<23>(V::sub(V::set(254 + task.fraction_bits), largest));
    const auto term_align = V::template shift_left<23>(V::sub(V::set(254 + task.fraction_bits - task.point), largest));
    auto low = V::integral(V::mul(V::widen_low(addend), V::widen_low(align)));
    auto high = V::integral(V::mul(V::widen_high(addend), V::widen_high(align)));
    const auto term_low = V::widen_low(term_align);
    const auto term_high = V::widen_high(term_align);
    unrolled<fp4_terms>([&](auto t) {
        const auto scales = V::load(column_scales + t * panel_width<V>);
        low = V::add(low, cut_term<V>(V::to_double_low(terms.units[t]), row_scales[t], V::widen_low(scales), term_low));
        high = V::add(high,
                      cut_term<V>(V::to_double_high(terms.units[t]), row_scales[t], V::widen_high(scales), term_high));
    });
    const auto back = V::template shift_left<23>(V::sub(largest, V::set(task.fraction_bits)));
    const auto zero = V::set_double(0);  // a sum of zeros is +0
    V::store(c, V::narrow_toward_zero(V::mul(V::add(low, zero), V::widen_low(back)),
                                      V::mul(V::add(high, zero), V::widen_high(back))));
}

template <class V>
void run_fp4(const Fp4Task& task) {
    const typename V::FloatMode mode(false);  // scales may be subnormal numbers of fp32
    constexpr std::int64_t steps = 8 * fp4_terms;
    for (std::int64_t i = 0; i < task.instructions; ++i) {
        const std::uint32_t* b = task.b + i * steps * panel_width<V>;
        const std::int64_t column = i * fp4_terms * panel_width<V>;
        for (std::int64_t row = 0; row < task.rows; ++row) {
            const std::uint32_t* a = task.a + row * task.a_stride + i * steps;
            const std::int64_t scale = row * task.scale_stride + i * fp4_terms;
            Fp4Terms<V> terms[vectors_per_panel];
            for (int t = 0; t < fp4_terms; ++t) {
                typename V::Int sum[1][vectors_per_panel];
                unrolled<vectors_per_panel>([&](auto v) { sum[0][v] = V::set(0); });
                const std::uint32_t* at = a + 8 * t;
                add_steps<V, 1>(&at, b + 8 * t * panel_width<V>, 8, sum);
                unrolled<vectors_per_panel>([&](auto v) { terms[v].units[t] = sum[0][v]; });
            }
            unrolled<vectors_per_panel>([&](auto v) {
                typename V::Int wrong = V::set(0);
                fp4_vector<V>(task, terms[v], task.a_scales + scale, task.a_exponents + scale,
                              task.b_scales + column + v * V::lanes, task.b_exponents + column + v * V::lanes,
                              task.c + row * panel_width<V> + v * V::lanes, wrong);
                task.suspects[row] |= V::sign_bits(wrong) << (v * V::lanes);
            });
        }
    }
}

}  // namespace
}  // namespace ulp::gemm_kernels
