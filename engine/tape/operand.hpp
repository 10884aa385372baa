// A tensor as the operand of a product: rounded to the product's grid where it is not on it, otherwise as it stands.
#pragma once

#include "engine/tape/operation.hpp"
#include "engine/tensor/parallel.hpp"

namespace ulp {

template <class Real>
class Operand {
  public:
    Operand(const BasicTensor<Real>& tensor, const FloatFormat& grid) : data_(tensor.data()) {
        if (tensor.format() == grid || grid == container_format<Real>) return;
        rounded_ = tensor;
        rounded_.round_to_format(grid);
        data_ = rounded_.data();
    }
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;

    /// rows x cols numbers from `offset` on, row-major.
    [[nodiscard]] BasicMatrixView<const Real> matrix(Index rows, Index cols, Index offset = 0) const {
        return {data_ + offset, rows, cols};
    }

  private:
    BasicTensor<Real> rounded_;
    const Real* data_;
};

/// y(i, j) += bias(j) for rows of bias.size() numbers, each sum a step. Rounds y from the accumulator's format to the
/// steps' first.
template <class Real>
void add_bias(BasicTensor<Real>& y, const BasicTensor<Real>& bias, const OpPrecision& precision) {
    y.set_format(precision.product.accumulator);
    y.round_to_format(precision.compute);
    const Index cols = bias.size();
    with_steps<Real>(precision.compute, [&](const auto& s) {
        in_parallel(y.rows_of(cols), 4 * cols, [&](Index first, Index last) {
            for (Index i = first * cols; i < last * cols; i += cols) {
                for (Index j = 0; j < cols; ++j) y[i + j] = s.add(y[i + j], bias[j]);
            }
        });
    });
}

/// The sum of each column of rows of `cols` numbers, from row 0 up.
template <class Real>
BasicTensor<Real> column_sums(const BasicTensor<Real>& rows, Index cols, const ComputeFormat& compute) {
    BasicTensor<Real> sums({cols});
    with_steps<Real>(compute, [&](const auto& s) {
        in_parallel(cols, 4 * rows.rows_of(cols), [&](Index first, Index last) {
            for (Index i = 0; i < rows.size(); i += cols) {
                for (Index j = first; j < last; ++j) sums[j] = s.add(sums[j], rows[i + j]);
            }
        });
    });
    sums.set_format(compute.format);
    return sums;
}

}  // namespace ulp
