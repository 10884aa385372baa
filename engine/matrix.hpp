// Matrices in the fp32 container: Eigen's row-major matrix for owners, and a strided view for operands.
#pragma once

#include <Eigen/Core>

namespace ulp {

using Index = Eigen::Index;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// rows x cols numbers somewhere; element (i, j) is data[i * row_stride + j * col_stride].
template <class Real>
struct StridedView {
    Real* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    Index row_stride = 0;
    Index col_stride = 1;

    StridedView() = default;
    StridedView(Real* first, Index m, Index n) : StridedView(first, m, n, n, 1) {}
    StridedView(Real* first, Index m, Index n, Index next_row, Index next_col)
        : data(first), rows(m), cols(n), row_stride(next_row), col_stride(next_col) {}
    StridedView(const Matrix& matrix)  // NOLINT: an owner is a view
        requires std::is_same_v<Real, const float> : StridedView(matrix.data(), matrix.rows(), matrix.cols()) {}
    StridedView(Matrix& matrix)  // NOLINT
        requires(!std::is_const_v<Real>)
        : StridedView(matrix.data(), matrix.rows(), matrix.cols()) {}

    Real& operator()(Index i, Index j) const { return data[i * row_stride + j * col_stride]; }
    [[nodiscard]] StridedView transposed() const { return {data, cols, rows, col_stride, row_stride}; }
    [[nodiscard]] bool row_major() const { return col_stride == 1; }
    [[nodiscard]] bool col_major() const { return row_stride == 1; }
};

using MatrixView = StridedView<const float>;
using MutableMatrixView = StridedView<float>;

inline MatrixView transposed(const Matrix& matrix) { return MatrixView(matrix).transposed(); }

/// The view's entries in a row-major matrix of its own.
inline Matrix packed(const MatrixView& view) {
    return Eigen::Map<const Matrix, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>(
        view.data, view.rows, view.cols, {view.row_stride, view.col_stride});
}

}  // namespace ulp
