// Chains of fp64 fused multiply-adds on panels, by the processor's own operation. A template over a vector kit `V`
// (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/kernels_fused.hpp"

namespace ulp::gemm_kernels {
namespace {

inline constexpr int fp64_rows_at_once = 4;  // with a panel's columns they fill the registers

/// `Rows` rows and the N vectors of a panel's columns over all k.
template <class V, int Rows, int N>
[[gnu::always_inline]] inline void fp64_rows(const Fp64Task& task, std::int64_t row) {
    constexpr int lanes = V::lanes / 2;
    typename V::Double sum[Rows][N];
    double* const c = task.c + row * task.width;
    unrolled<Rows>(
        [&](auto i) { unrolled<N>([&](auto v) { sum[i][v] = V::load_double(c + i * task.width + v * lanes); }); });
    const double* a = task.a + row * task.k;
    const double* b = task.b;
    for (std::int64_t k = 0; k < task.k; ++k, b += task.width) {
        typename V::Double column[N];
        unrolled<N>([&](auto v) { column[v] = V::load_double(b + v * lanes); });
        unrolled<Rows>([&](auto i) {
            const auto factor = V::set_double(a[i * task.k + k]);
            unrolled<N>([&](auto v) { sum[i][v] = V::fma(factor, column[v], sum[i][v]); });
        });
    }
    unrolled<Rows>([&](auto i) { unrolled<N>([&](auto v) { V::store(c + i * task.width + v * lanes, sum[i][v]); }); });
}

template <class V>
void run_fp64(const Fp64Task& task) {
    constexpr int vectors = vectors_per_fp64_panel;
    std::int64_t row = 0;
    for (; row + fp64_rows_at_once <= task.rows; row += fp64_rows_at_once) {
        fp64_rows<V, fp64_rows_at_once, vectors>(task, row);
    }
    for (; row < task.rows; ++row) fp64_rows<V, 1, vectors>(task, row);
}

}  // namespace
}  // namespace ulp::gemm_kernels
