// The body of the eigen_product_*.cpp. Defined before it: a name for Eigen's namespace; ULPLAB_SIMD, the member of
// EigenKernels; ULPLAB_SIMD_NAME, its name.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

#include "engine/products/kernels/eigen_product.hpp"

namespace ulp {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

/// Calls f with a map of the operand; rows beside each other or columns.
template <class Function>
void with_map(const MatrixView& v, const Function& f) {
    if (v.col_stride == 1) {
        f(Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>(v.data, v.rows, v.cols,
                                                              Eigen::OuterStride<>(v.row_stride)));
    } else {
        f(Eigen::Map<const ColMajor, 0, Eigen::OuterStride<>>(v.data, v.rows, v.cols,
                                                              Eigen::OuterStride<>(v.col_stride)));
    }
}

void eigen_product(const GemmProblem& p) {
    Eigen::Map<RowMajor, 0, Eigen::OuterStride<>> d(p.d.data, p.d.rows, p.d.cols, Eigen::OuterStride<>(p.d.row_stride));
    with_map(p.a, [&](const auto& a) { with_map(p.b, [&](const auto& b) { d.noalias() = a * b; }); });
}

}  // namespace

constinit const EigenKernels EigenKernels::ULPLAB_SIMD = {ULPLAB_SIMD_NAME, eigen_product};

}  // namespace ulp
