// What the fast products share: when a product is turned and when threads are woken, and the tiles of its result with
// the elements that the kernels mark.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "softfloat/matrix_units/gemm_kernels/pack.hpp"
#include "softfloat/matrix_units/gemm_kernels/panel.hpp"
#include "softfloat/matrix_units/gemm_problem.hpp"
#include "softfloat/matrix_units/model.hpp"
#include "softfloat/support/copy_matrix.hpp"
#include "softfloat/support/parallel.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// Whether a product is long enough: waking the threads for fewer products would cost more than they save.
template <class Problem>
bool worth_threads_for(const Problem& p) {
    return worth_threads(p.m() * p.n() * p.k() > (std::int64_t{1} << 18));
}

/// Wide rows fill the vectors better. A sum of products has no sides, but where the first NaN is the result's.
inline bool better_turned(const TensorCoreModel& model, const GemmProblem& p) {
    const bool sides = model.nan == NanStyle::x86 || model.nan == NanStyle::dmma;
    return p.n() < p.m() && p.n() < 48 && !sides;
}

/// The results of some rows and of a panel's columns while kernels add to them.
template <class Number>
struct BasicTile {
    std::int64_t row = 0, rows = 0, col = 0, cols = 0;
    std::int64_t width = 0;                 // of the panel, in columns
    AlignedVector<Number> c{};              // [row][width]
    std::vector<std::uint64_t> suspects{};  // [row]: columns whose result must be computed again

    Number& at(std::int64_t i, std::int64_t j) { return c[static_cast<std::size_t>(i * width + j)]; }

    /// Begins at (first_row, first_col) of a product's result: C, or zeros where C has no data and in the columns that
    /// the panel has too many. No element is marked.
    template <class Problem, class Addend>
    void load(const Problem& p, const Addend& addend, std::int64_t first_row, std::int64_t most_rows,
              std::int64_t first_col, std::int64_t panel_width) {
        row = first_row, rows = std::min(most_rows, p.m() - row);
        col = first_col, cols = std::min(panel_width, p.n() - col);
        width = panel_width;
        c.assign(static_cast<std::size_t>(rows * width), Number{});
        suspects.assign(static_cast<std::size_t>(rows), 0);
        if (addend.data == nullptr) return;
        const auto from = addend.part(row, col, rows, cols);
        if constexpr (std::is_same_v<Number, float>) {
            support::copy_matrix(from, BasicMatrixView<Number>(c.data(), rows, cols, width, 1));
        } else {
            for (std::int64_t i = 0; i < rows; ++i) {
                Number* const line = c.data() + i * width;
                for (std::int64_t j = 0; j < cols; ++j) line[j] = static_cast<Number>(from(i, j));
            }
        }
    }

    /// Marks whole rows and columns, a bit each.
    void mark(std::uint64_t marked_rows, std::uint64_t marked_cols) {
        for (std::int64_t i = 0; i < rows; ++i) {
            suspects[static_cast<std::size_t>(i)] |= (marked_rows >> i & 1) != 0 ? ~std::uint64_t{0} : marked_cols;
        }
    }

    /// Marks of the columns that there are.
    [[nodiscard]] std::uint64_t used() const { return cols == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << cols) - 1; }
    [[nodiscard]] bool has_suspects() const {
        return std::ranges::any_of(suspects, [this](std::uint64_t marks) { return (marks & used()) != 0; });
    }
    /// f(i, j) for each marked element, row by row.
    template <class Function>
    void each_suspect(const Function& f) const {
        for (std::int64_t i = 0; i < rows; ++i) {
            std::uint64_t left = suspects[static_cast<std::size_t>(i)] & used();
            for (; left != 0; left &= left - 1) f(i, std::int64_t{std::countr_zero(left)});
        }
    }
};
using Tile = BasicTile<float>;

/// Marks what no kernel with aligned sums may start from, and puts 0 in its place.
inline void mark_addends(Tile& tile) {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        float* const row = tile.c.data() + i * tile.width;
        bool any = false;
        for (std::int64_t j = 0; j < tile.cols; ++j) any |= is_suspect_addend(row[j]);
        for (std::int64_t j = 0; any && j < tile.cols; ++j) {  // rare
            if (!is_suspect_addend(row[j])) continue;
            row[j] = 0.0F;
            tile.suspects[static_cast<std::size_t>(i)] |= std::uint64_t{1} << j;
        }
    }
}

inline void store_tile(const GemmProblem& p, const Tile& tile) {
    support::copy_matrix(MatrixView(tile.c.data(), tile.rows, tile.cols, tile.width, 1),
                         p.d.part(tile.row, tile.col, tile.rows, tile.cols));
}

/// A kernel's task: packed groups from `first` on, for the rows of a tile. It adds to c, the tile's or another of its
/// layout.
inline PanelTask task_of(const Kernels& kernels, ExponentCodes codes, const KOrder& order, const PackedRows& a,
                         const PackedPanel& b, Tile& tile, float* c, std::int64_t first, std::int64_t groups) {
    const std::int64_t k = first * order.group;
    return {.a = a.values + k * tile.rows,
            .a_exponents = a.exponents + k * tile.rows,
            .b = b.values + k * tile.width,
            .b_exponents = b.exponents + k * kernels.lanes * (codes == ExponentCodes::words ? 2 : 1),
            .c = c,
            .suspects = tile.suspects.data(),
            .groups = groups,
            .rows = tile.rows,
            .group = order.group,
            .crowded = a.crowded};
}

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
