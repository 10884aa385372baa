// Matrices in the fp32 container: Eigen's row-major matrix owns them, MatrixView (softfloat) describes operands.
#pragma once

#include <Eigen/Core>
#include <algorithm>

#include "softfloat/matrix_view.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {

using Index = Eigen::Index;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline MatrixView transposed(const Matrix& matrix) { return MatrixView(matrix).transposed(); }

/// The view's entries in a row-major matrix of its own.
inline Matrix packed(const MatrixView& view) {
    return Eigen::Map<const Matrix, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>(
        view.data, view.rows, view.cols, {view.row_stride, view.col_stride});
}

// Loops on all threads where they are long enough to be worth it. What a loop computes must not depend on how it is
// divided: each element by itself, or each plane, with sums inside it in their written order.

/// f(first, last) for ranges that cover [0, count). `cost` is what one of the count takes, in simple operations.
template <class Function>
void in_parallel(Index count, Index cost, const Function& f) {
    constexpr Index worth = Index{1} << 17;
    const Index grain = std::max<Index>(1, worth / std::max<Index>(cost, 1));
    const Index chunks = (count + grain - 1) / grain;
    if (!worth_threads(chunks > 1)) {
        if (count > 0) f(Index{0}, count);
        return;
    }
#pragma omp parallel for schedule(static)
    for (Index chunk = 0; chunk < chunks; ++chunk) f(chunk * grain, std::min(count, (chunk + 1) * grain));
}

}  // namespace ulp
