// Groups whose addend is aligned late (late_addend.hpp), on panels: products aligned and cut as int32, then their sum
// and c aligned to the larger of the two in fp64, which holds both and the total exactly. A template over a vector kit
// `V` (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/kernels_fused.hpp"

namespace ulp::gemm_kernels {
namespace {

/// The last bit of an exponent field in its place in fp32.
inline constexpr int one_field = 1 << 23;

/// Truncated products of a group, or of its even or odd half, in units of 2^(exponent - F).
template <class V, int N>
struct LateSum {
    typename V::Int field[N];  // of the largest product in its place in fp32, at least lowest_field
    typename V::Int units[N];
};

template <class V, class Exponents, int N, int first, int step>
[[gnu::always_inline]] inline LateSum<V, N> late_sum(const PanelTask& task, const float* a,
                                                     const std::uint32_t* a_exponents, const float* b,
                                                     const std::uint32_t* b_exponents, std::uint64_t& suspects) {
    Exponents exponents;
    exponents.template find<first, step>(a_exponents, b_exponents, task.group);
    if constexpr (Exponents::words) {
        const std::uint64_t small = exponents.too_small();
        if (small != 0) suspects |= columns_of_words<V>(small);
    }
    exponents.make_fields(lowest_field);
    LateSum<V, N> sum;
    typename V::Float scale[N];
    unrolled<N>([&](auto v) {
        sum.field[v] = exponents.template field<v>();
        scale[v] = V::as_float(V::sub(V::set((254 + task.fraction_bits) << 23), sum.field[v]));
        sum.units[v] = V::set(0);
    });
    for (int k = first; k < task.group; k += step) {
        const auto factor = V::set_float(a[k]);
        unrolled<N>([&](auto v) {
            const auto product = V::mul(factor, V::load_float(b + k * panel_width<V> + v * V::lanes));
            sum.units[v] = V::add(sum.units[v], V::truncate(V::mul(product, scale[v])));
        });
    }
    return sum;
}

/// 2^(exponent + more) as an fp32 word, the exponent in fp32's place; from 2^(more - 80) down that, where the
/// floor of what it multiplies is the same: units are below 2^31.
template <class V>
[[gnu::always_inline]] inline typename V::Int power(typename V::Int exponent, int more) {
    return V::add(V::max(exponent, V::set(-80 * one_field)), V::set((127 + more) * one_field));
}

/// floor(units * 2^(exponent + more)), for both halves of a vector.
template <class V>
struct Halves {
    typename V::Double low, high;
};
template <class V>
[[gnu::always_inline]] inline Halves<V> shifted_down(const Halves<V>& units, typename V::Int exponent, int more = 0) {
    const auto factor = power<V>(exponent, more);
    return {V::floor(V::mul(units.low, V::widen_low(factor))), V::floor(V::mul(units.high, V::widen_high(factor)))};
}
template <class V>
[[gnu::always_inline]] inline Halves<V> doubles_of(typename V::Int units) {
    return {V::to_double_low(units), V::to_double_high(units)};
}

template <class V, class Exponents, bool even_odd, int N>
[[gnu::always_inline]] inline void late_group(const PanelTask& task, const float* a, const std::uint32_t* a_exponents,
                                              const float* b, const std::uint32_t* b_exponents, float* c,
                                              std::uint64_t& suspects) {
    constexpr int total_bits = 31;  // late_sum_fraction_bits
    constexpr int step = even_odd ? 2 : 1;
    const auto even = late_sum<V, Exponents, N, 0, step>(task, a, a_exponents, b, b_exponents, suspects);
    LateSum<V, N> odd;
    if constexpr (even_odd) odd = late_sum<V, Exponents, N, 1, 2>(task, a, a_exponents, b, b_exponents, suspects);
    typename V::Int wrong = V::set(0);
    unrolled<N>([&](auto v) {
        Halves<V> sum = doubles_of<V>(even.units[v]);
        auto field = even.field[v];
        if constexpr (even_odd) {
            field = V::max(even.field[v], odd.field[v]);
            const auto x = shifted_down<V>(sum, V::sub(even.field[v], field));
            const auto y = shifted_down<V>(doubles_of<V>(odd.units[v]), V::sub(odd.field[v], field));
            sum = {V::add(x.low, y.low), V::add(x.high, y.high)};
        }
        auto addend = V::as_int(V::load_float(c + v * V::lanes));
        const auto c_field = addend_field<V, ResultKind::fp32_toward_zero>(addend, wrong);
        const auto largest = V::max(field, c_field);
        wrong = V::bit_or(wrong, V::sub(V::set(highest_field * one_field), largest));
        const auto products = shifted_down<V>(sum, V::sub(field, largest), total_bits - task.fraction_bits);
        const auto c_below = V::sub(largest, c_field);
        if constexpr (even_odd) {  // a c more than 25 binades below is dropped
            addend = V::and_not(addend, V::all_sign(V::sub(V::set(25 * one_field), c_below)));
        }
        // Far below the largest exponent c would underflow here: for a negative c the floor is not 0 then.
        const auto far = V::sub(V::set(100 * one_field), c_below);
        wrong = V::bit_or(wrong, V::bit_and(far, addend));
        // 2^(F - largest); the largest is at least -95. c has 24 bits, and so has its floor.
        const auto align = V::sub(V::set((254 + task.fraction_bits) << 23), largest);
        const auto c_units = V::as_int(V::floor(V::mul(V::as_float(addend), V::as_float(align))));
        const auto unit = V::set_double(1 << (total_bits - task.fraction_bits));
        const auto total = V::narrow(V::fma(V::widen_low(c_units), unit, products.low),
                                     V::fma(V::widen_high(c_units), unit, products.high));
        // In fp32 too the power of two is exact: results are at least 2^-126. A sum of zeros is +0.
        const auto back = V::as_float(V::sub(largest, V::set(total_bits * one_field)));
        V::store(c + v * V::lanes, V::add(V::mul(total, back), V::set_float(0)));
    });
    const std::uint64_t lanes = V::sign_bits(wrong);
    if (lanes != 0) {
        for (int v = 0; v < N; ++v) suspects |= lanes << (v * V::lanes);
    }
}

template <class V, class Exponents, bool even_odd, int N>
void run_late(const PanelTask& task) {
    const typename V::FloatMode mode(true);  // tiny products lie below every unit
    for (std::int64_t g = 0; g < task.groups; ++g) {
        const float* b = task.b + g * task.group * panel_width<V>;
        const std::uint32_t* b_exponents = task.b_exponents + g * task.group * Exponents::stride;
        for (std::int64_t row = 0; row < task.rows; ++row) {
            const std::int64_t at = (g * task.rows + row) * task.group;
            late_group<V, Exponents, even_odd, N>(task, task.a + at, task.a_exponents + at, b, b_exponents,
                                                  task.c + row * panel_width<V>, task.suspects[row]);
        }
    }
}

}  // namespace
}  // namespace ulp::gemm_kernels
