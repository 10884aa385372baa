// Integer products on panels, two k a step: pairs of 16-bit operands in a 32-bit lane. A template over a vector kit `V`
// (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/kernels_fused.hpp"

namespace ulp::gemm_kernels {
namespace {

/// sum + the products of a word's two 16-bit operands, or, `fours`, of four unsigned bytes of a and four signed ones of
/// b.
template <class V, bool fours>
[[gnu::always_inline]] inline typename V::Int add_products(typename V::Int sum, typename V::Int a, typename V::Int b) {
    if constexpr (fours) {
        return V::add_byte_products(sum, a, b);
    } else if constexpr (requires { V::add_word_products(sum, a, b); }) {
        return V::add_word_products(sum, a, b);
    } else {
        return V::add(sum, V::mul_add_words(a, b));
    }
}

/// sum[row][v] += steps [0, steps) of R rows and the panel's columns, `turn` of them in one turn of the loop.
template <class V, int R, bool fours = false, int turn = 1>
[[gnu::always_inline]] inline void add_steps(const std::uint32_t* const* a, const std::uint32_t* b, std::int64_t steps,
                                             typename V::Int (*sum)[vectors_per_panel]) {
    typename V::Int total[R][vectors_per_panel];  // whose addresses nobody takes: they stay in registers
    const auto each = [](const auto& f) __attribute__((always_inline)) {
        unrolled<R>([&](auto r) __attribute__((always_inline)) {
            unrolled<vectors_per_panel>([&](auto v) __attribute__((always_inline)) { f(r, v); });
        });
    };
    each([&](auto r, auto v) __attribute__((always_inline)) { total[r][v] = sum[r][v]; });
    const auto add_step = [&](std::int64_t step) __attribute__((always_inline)) {
        typename V::Int factor[R];
        unrolled<R>([&](auto r) __attribute__((always_inline)) { factor[r] = V::set(a[r][step]); });
        unrolled<vectors_per_panel>([&](auto v) __attribute__((always_inline)) {
            const auto column = V::load(b + step * panel_width<V> + v * V::lanes);
            unrolled<R>([&](auto r) __attribute__((always_inline)) {
                total[r][v] = V::computed_here(add_products<V, fours>(total[r][v], factor[r], column));
            });
        });
    };
    for (std::int64_t step = 0; step < steps; step += turn) {
        unrolled<turn>([&](auto i) __attribute__((always_inline)) { add_step(step + i); });
    }
    each([&](auto r, auto v) __attribute__((always_inline)) { sum[r][v] = total[r][v]; });
}

/// c + sum, clamped to int32.
template <class V>
[[gnu::always_inline]] inline typename V::Int saturated_sum(typename V::Int c, typename V::Int sum) {
    const auto total = V::add(c, sum);
    const auto overflow = V::or_overflow(V::set(0), c, sum, total);
    return V::select_by_sign(overflow, V::bit_xor(V::all_sign(c), V::set(0x7FFFFFFF)), total);
}

/// Each instruction's products are added to c at once; without saturation one instruction may be as long as the task.
template <class V>
void run_integers(const IntegerTask& task) {
    constexpr int R = 2;
    for (std::int64_t first = 0; first < task.rows; first += R) {
        std::uint32_t* c[R];
        const std::uint32_t* a[R];
        for (int r = 0; r < R; ++r) {  // behind the last row: that one again
            const std::int64_t row = first + r < task.rows ? first + r : task.rows - 1;
            c[r] = task.c + row * panel_width<V>;
            a[r] = task.a + row * task.a_stride;
        }
        typename V::Int total[R][vectors_per_panel];
        unrolled<R>(
            [&](auto r) { unrolled<vectors_per_panel>([&](auto v) { total[r][v] = V::load(c[r] + v * V::lanes); }); });
        const std::int64_t length = task.saturates ? task.instruction_steps : task.steps;
        for (std::int64_t step = 0; step < task.steps; step += length) {
            const std::uint32_t* at[R];
            for (int r = 0; r < R; ++r) at[r] = a[r] + step;
            typename V::Int sum[R][vectors_per_panel];
            unrolled<R>([&](auto r) { unrolled<vectors_per_panel>([&](auto v) { sum[r][v] = V::set(0); }); });
            add_steps<V, R>(at, task.b + step * panel_width<V>, length, sum);
            unrolled<R>([&](auto r) {
                unrolled<vectors_per_panel>([&](auto v) {
                    total[r][v] =
                        task.saturates ? saturated_sum<V>(total[r][v], sum[r][v]) : V::add(total[r][v], sum[r][v]);
                });
            });
        }
        unrolled<R>(
            [&](auto r) { unrolled<vectors_per_panel>([&](auto v) { V::store(c[r] + v * V::lanes, total[r][v]); }); });
    }
}

}  // namespace
}  // namespace ulp::gemm_kernels
