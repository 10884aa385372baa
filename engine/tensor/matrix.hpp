// Matrices in the fp32 container: Eigen's row-major matrix owns them, MatrixView (softfloat) describes operands.
#pragma once

#include <Eigen/Core>

#include "softfloat/matrix_view.hpp"

namespace ulp {

using Index = Eigen::Index;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline MatrixView transposed(const Matrix& matrix) { return MatrixView(matrix).transposed(); }

/// The view's entries in a row-major matrix of its own.
inline Matrix packed(const MatrixView& view) {
    return Eigen::Map<const Matrix, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>(
        view.data, view.rows, view.cols, {view.row_stride, view.col_stride});
}

}  // namespace ulp
