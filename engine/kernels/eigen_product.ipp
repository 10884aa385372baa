// The body of eigen_product.cpp.in. Defined before it: a name for Eigen's namespace; ULPLAB_SIMD, the member of
// EigenKernels; ULPLAB_SIMD_NAME, its name.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

#include "engine/kernels/eigen_product.hpp"

namespace ulp {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

/// The sizes of the panels that Eigen packs, and memory for them that the thread keeps. (From the heap it would be
/// fresh pages in every product: a tenth of the time of a training step.)
struct Panels : Eigen::internal::level3_blocking<float, float> {
    Panels(Eigen::Index m, Eigen::Index n, Eigen::Index k) {
        using Sizes = Eigen::internal::gemm_blocking_space<Eigen::RowMajor, float, float, Eigen::Dynamic,
                                                           Eigen::Dynamic, Eigen::Dynamic>;
        const Sizes sizes(m, n, k, 1, true);
        m_mc = sizes.mc(), m_nc = sizes.nc(), m_kc = sizes.kc();
        const Eigen::Index of_a = (m_mc * m_kc + 15) / 16 * 16;  // whole lines of the cache
        thread_local Eigen::VectorXf memory;
        if (memory.size() < of_a + m_nc * m_kc) memory.resize(of_a + m_nc * m_kc);
        m_blockA = memory.data(), m_blockB = memory.data() + of_a;
    }
};

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

template <class A, class B, class D>
void multiply(const A& a, const B& b, D& d) {
    // Eigen has other ways for these.
    const bool is_small = a.cols() + d.rows() + d.cols() < EIGEN_GEMM_TO_COEFFBASED_THRESHOLD;
    if (is_small || d.rows() == 1 || d.cols() == 1 || d.size() == 0 || a.cols() == 0) {
        d.noalias() = a * b;
        return;
    }
    d.setZero();
    Panels panels(d.rows(), d.cols(), a.cols());
    constexpr int a_order = A::IsRowMajor ? Eigen::RowMajor : Eigen::ColMajor;
    constexpr int b_order = B::IsRowMajor ? Eigen::RowMajor : Eigen::ColMajor;
    Eigen::internal::general_matrix_matrix_product<Eigen::Index, float, a_order, false, float, b_order, false,
                                                   Eigen::RowMajor, 1>::run(d.rows(), d.cols(), a.cols(), a.data(),
                                                                            a.outerStride(), b.data(), b.outerStride(),
                                                                            d.data(), 1, d.outerStride(), 1, panels);
}

void eigen_product(const GemmProblem& p) {
    Eigen::Map<RowMajor, 0, Eigen::OuterStride<>> d(p.d.data, p.d.rows, p.d.cols, Eigen::OuterStride<>(p.d.row_stride));
    with_map(p.a, [&](const auto& a) { with_map(p.b, [&](const auto& b) { multiply(a, b, d); }); });
}

EigenOrder eigen_order() {
    return {EIGEN_WORLD_VERSION,  EIGEN_MAJOR_VERSION,  EIGEN_MINOR_VERSION,
            Eigen::l1CacheSize(), Eigen::l2CacheSize(), Eigen::l3CacheSize()};
}

}  // namespace

constinit const EigenKernels EigenKernels::ULPLAB_SIMD = {ULPLAB_SIMD_NAME, eigen_order, eigen_product};

}  // namespace ulp
