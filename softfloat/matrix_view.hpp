// The one description of a matrix in memory: products in softfloat, the trainer and the GPU's backends take it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ulp {

template <class T>
concept StridedOwner = requires(T& t) {
    t.data();
    t.rows();
    t.cols();
    t.rowStride();
    t.colStride();
};

/// rows x cols numbers somewhere; element (i, j) is data[i * row_stride + j * col_stride]. Does not own them; the view
/// of a matrix that is not there has no data. Code that is compiled for several sets of vector instructions reads the
/// members and calls nothing (softfloat/vector/simd_choice.hpp says why).
template <class Number>
struct BasicMatrixView {
    using Index = std::int64_t;

    Number* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    Index row_stride = 0;
    Index col_stride = 1;

    constexpr BasicMatrixView() = default;
    constexpr BasicMatrixView(Number* first, Index m, Index n) : BasicMatrixView(first, m, n, n, 1) {}
    constexpr BasicMatrixView(Number* first, Index m, Index n, Index next_row, Index next_col)
        : data(first), rows(m), cols(n), row_stride(next_row), col_stride(next_col) {}
    /// What may be written may be read.
    template <class Other>
    requires(std::is_same_v<const Other, Number> && !std::is_same_v<Other, Number>) constexpr BasicMatrixView(
        const BasicMatrixView<Other>& view)  // NOLINT: implicit
        : BasicMatrixView(view.data, view.rows, view.cols, view.row_stride, view.col_stride) {}
    /// An owner is a view: Eigen's matrices, in either order, and its maps.
    template <StridedOwner Owner>
    requires(std::is_const_v<Number>) BasicMatrixView(const Owner& owner)  // NOLINT: implicit
        : BasicMatrixView(owner.data(), owner.rows(), owner.cols(), owner.rowStride(), owner.colStride()) {}
    template <StridedOwner Owner>
    requires(!std::is_const_v<Number>) BasicMatrixView(Owner& owner)  // NOLINT: implicit
        : BasicMatrixView(owner.data(), owner.rows(), owner.cols(), owner.rowStride(), owner.colStride()) {}

    constexpr Number& operator()(Index i, Index j) const { return data[i * row_stride + j * col_stride]; }
    [[nodiscard]] constexpr BasicMatrixView transposed() const { return {data, cols, rows, col_stride, row_stride}; }
    /// m x n elements from (i, j) on.
    [[nodiscard]] constexpr BasicMatrixView part(Index i, Index j, Index m, Index n) const {
        return {data + i * row_stride + j * col_stride, m, n, row_stride, col_stride};
    }
    [[nodiscard]] constexpr bool row_major() const { return col_stride == 1; }
    [[nodiscard]] constexpr bool col_major() const { return row_stride == 1; }
    [[nodiscard]] constexpr bool empty() const { return rows == 0 || cols == 0; }
};

using MatrixView = BasicMatrixView<const float>;
using MutableMatrixView = BasicMatrixView<float>;

static_assert(std::is_trivially_copyable_v<MatrixView> && std::is_convertible_v<MutableMatrixView, MatrixView>);

}  // namespace ulp
