// Units that are chains and trees of IEEE operations, on panels: the processor's own operations in the unit's order
// (chained_units.hpp). NaNs are left to the plain path. A template over a vector kit `V`
// (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/kernels_fused.hpp"

namespace ulp::gemm_kernels {
namespace {

/// One row's group and N vectors of columns.
template <class V, int N>
struct ChainGroup {
    const float* a;
    const float* b;
    float* c;
    int group;

    [[nodiscard]] typename V::Float left(int k) const { return V::set_float(a[k]); }
    [[nodiscard]] typename V::Float right(int k, int v) const {
        return V::load_float(b + k * panel_width<V> + v * V::lanes);
    }
};

template <class V, int N>
[[gnu::always_inline]] inline void add_in_turn(const ChainGroup<V, N>& at, typename V::Float* sum, int k) {
    const auto factor = at.left(k);
    unrolled<N>([&](auto v) { sum[v] = V::fma(factor, at.right(k, v), sum[v]); });
}

/// The sum of `count` products from k on, each rounded, in a balanced tree.
template <class V, int N, int count>
[[gnu::always_inline]] inline typename V::Float tree(const ChainGroup<V, N>& at, int k, int v) {
    if constexpr (count == 1) {
        return V::fma(at.left(k), at.right(k, v), V::set_float(0));
    } else {
        return V::add(tree<V, N, count / 2>(at, k, v), tree<V, N, count / 2>(at, k + count / 2, v));
    }
}

template <class V, ChainKind kind, int N>
[[gnu::always_inline]] inline void chain_group(const ChainGroup<V, N>& at) {
    typename V::Float sum[N];
    unrolled<N>([&](auto v) { sum[v] = V::load_float(at.c + v * V::lanes); });
    if constexpr (kind == ChainKind::fma_chain) {
        for (int k = 0; k < at.group; ++k) add_in_turn<V, N>(at, sum, k);
    } else if constexpr (kind == ChainKind::fma_pairs) {
        for (int k = 0; k < at.group; k += 2) {
            add_in_turn<V, N>(at, sum, k + 1);
            add_in_turn<V, N>(at, sum, k);
        }
    } else if constexpr (kind == ChainKind::even_odd_fma) {
        typename V::Float even[N], odd[N];
        unrolled<N>([&](auto v) { even[v] = odd[v] = V::set_float(0); });
        for (int k = 0; k < at.group; k += 2) {
            add_in_turn<V, N>(at, even, k);
            add_in_turn<V, N>(at, odd, k + 1);
        }
        unrolled<N>([&](auto v) { sum[v] = V::add(sum[v], V::add(even[v], odd[v])); });
    } else {
        constexpr int leaves = kind == ChainKind::pairwise_2 ? 2 : 4;
        unrolled<N>([&](auto v) { sum[v] = V::add(sum[v], tree<V, N, leaves>(at, 0, v)); });
    }
    unrolled<N>([&](auto v) { V::store(at.c + v * V::lanes, sum[v]); });
}

/// Adds +0 to c: a zero, and what is flushed, becomes +0.
template <class V, int N>
void make_zeros_positive(const PanelTask& task) {
    for (std::int64_t row = 0; row < task.rows; ++row) {
        float* c = task.c + row * panel_width<V>;
        for (int v = 0; v < N; ++v) {
            V::store(c + v * V::lanes, V::add(V::load_float(c + v * V::lanes), V::set_float(0)));
        }
    }
}

template <class V, ChainKind kind, int N>
void run_chain(const PanelTask& task) {
    const typename V::FloatMode mode(task.flush, task.flush);
    for (std::int64_t g = 0; g < task.groups; ++g) {
        if (task.positive_c_groups != 0 && g % task.positive_c_groups == 0) make_zeros_positive<V, N>(task);
        const float* b = task.b + g * task.group * panel_width<V>;
        for (std::int64_t row = 0; row < task.rows; ++row) {
            const float* a = task.a + (g * task.rows + row) * task.group;
            chain_group<V, kind, N>({a, b, task.c + row * panel_width<V>, task.group});
        }
    }
}

/// Half a vector of columns: c + products [0, count), exactly, as fp64.
template <class V, int count>
[[gnu::always_inline]] inline typename V::Double exact_group(const typename V::Double* products, typename V::Double c,
                                                             typename V::Mask64& inexact) {
    auto sum = products[0];
    if constexpr (count == 2) sum = V::add_exact(products[0], products[1], inexact);
    if constexpr (count == 4) {
        sum = V::add_exact(V::add_exact(products[0], products[1], inexact),
                           V::add_exact(products[2], products[3], inexact), inexact);
    }
    // A sum of zeros is +0, whatever their signs.
    return V::add(V::add_exact(sum, c, inexact), V::set_double(0));
}

/// A group's columns in fp64, half a vector of them in each.
template <class V, int count>
struct WideColumns {
    typename V::Double low[count], high[count];
};

/// Products and c added exactly and rounded once, for one vector of columns. Where fp64 does not hold the sum the lane
/// is a suspect.
template <class V, int count>
[[gnu::always_inline]] inline void exact_row(const WideColumns<V, count>& columns, const float* a, float* c,
                                             typename V::Mask64 (&inexact)[2]) {
    typename V::Double low[count], high[count];
    unrolled<count>([&](auto k) {
        const auto factor = V::set_double(a[k]);
        low[k] = V::mul(factor, columns.low[k]);
        high[k] = V::mul(factor, columns.high[k]);
    });
    const auto addend = V::load(c);
    const auto sum_low = exact_group<V, count>(low, V::widen_low(addend), inexact[0]);
    const auto sum_high = exact_group<V, count>(high, V::widen_high(addend), inexact[1]);
    V::store(c, V::narrow(sum_low, sum_high));
}

template <class V, int count, int N>
void run_exact(const PanelTask& task) {
    const typename V::FloatMode mode(false);
    for (std::int64_t g = 0; g < task.groups; ++g) {
        const float* b = task.b + g * count * panel_width<V>;
        for (int v = 0; v < N; ++v) {
            WideColumns<V, count> columns;
            unrolled<count>([&](auto k) {
                const auto column = V::load(b + k * panel_width<V> + v * V::lanes);
                columns.low[k] = V::widen_low(column);
                columns.high[k] = V::widen_high(column);
            });
            for (std::int64_t row = 0; row < task.rows; ++row) {
                typename V::Mask64 inexact[2] = {};
                exact_row<V, count>(columns, task.a + (g * task.rows + row) * count,
                                    task.c + row * panel_width<V> + v * V::lanes, inexact);
                task.suspects[row] |= V::bits_of(inexact[0], inexact[1]) << (v * V::lanes);
            }
        }
    }
}

// Chains of fp64 fused multiply-adds, on panels of doubles.

inline constexpr int fp64_rows_at_once = 4;  // with a panel's columns they fill the registers

/// `Rows` rows and the N vectors of a panel's columns over all k.
template <class V, int Rows, int N>
[[gnu::always_inline]] inline void fp64_rows(const Fp64Task& task, std::int64_t row) {
    constexpr int lanes = V::lanes / 2;
    typename V::Double sum[Rows][N];
    double* const c = task.c + row * task.width;
    unrolled<Rows>(
        [&](auto i) { unrolled<N>([&](auto v) { sum[i][v] = V::load_double(c + i * task.width + v * lanes); }); });
    const double* a = task.a + row * task.a_stride;
    const double* b = task.b;
    for (std::int64_t k = 0; k < task.k; ++k, b += task.width) {
        typename V::Double column[N];
        unrolled<N>([&](auto v) { column[v] = V::load_double(b + v * lanes); });
        unrolled<Rows>([&](auto i) {
            const auto factor = V::set_double(a[i * task.a_stride + k]);
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
