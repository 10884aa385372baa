// The body of the eigen_product_*.cpp; ULPLAB_EIGEN_PRODUCT and a name for Eigen's namespace are defined before it.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

#include "engine/eigen_product.hpp"

namespace ulp {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

/// Calls f with a map of the operand; rows beside each other or columns.
template <class Function>
void with_map(const float* data, std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride,
              const Function& f) {
    if (col_stride == 1) {
        f(Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>(data, rows, cols, Eigen::OuterStride<>(row_stride)));
    } else {
        f(Eigen::Map<const ColMajor, 0, Eigen::OuterStride<>>(data, rows, cols, Eigen::OuterStride<>(col_stride)));
    }
}

}  // namespace

void ULPLAB_EIGEN_PRODUCT(const StridedProduct& p) {
    Eigen::Map<RowMajor, 0, Eigen::OuterStride<>> d(p.d, p.m, p.n, Eigen::OuterStride<>(p.d_row_stride));
    with_map(p.a, p.m, p.k, p.a_row_stride, p.a_col_stride, [&](const auto& a) {
        with_map(p.b, p.k, p.n, p.b_row_stride, p.b_col_stride, [&](const auto& b) { d.noalias() = a * b; });
    });
}

}  // namespace ulp
