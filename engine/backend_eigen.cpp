#include "engine/backends.hpp"
#include "engine/rounder.hpp"

namespace ulp {
namespace {

using RowMajorMap = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
using ColMajorMap = Eigen::Map<const Eigen::MatrixXf, 0, Eigen::OuterStride<>>;

/// Calls f with a map of the view that Eigen multiplies at full speed; views that are strided both ways are packed.
template <class Function>
void with_map(const MatrixView& view, const Function& f) {
    if (view.row_major()) {
        f(RowMajorMap(view.data, view.rows, view.cols, Eigen::OuterStride<>(view.row_stride)));
    } else if (view.col_major()) {
        f(ColMajorMap(view.data, view.rows, view.cols, Eigen::OuterStride<>(view.col_stride)));
    } else {
        const Matrix copy = packed(view);
        f(RowMajorMap(copy.data(), copy.rows(), copy.cols(), Eigen::OuterStride<>(copy.cols())));
    }
}

class EigenBackend final : public MatmulBackend {
  public:
    [[nodiscard]] std::string name() const override { return "eigen"; }
    [[nodiscard]] std::string claimed_model(const ProductTypes&) const override { return {}; }
    [[nodiscard]] std::string path(const ProductTypes&, Index, Index, Index) const override {
        return "Eigen's fp32 product";
    }

  private:
    void compute(const Product& p) const override {
        Matrix d(p.d.rows, p.d.cols);
        with_map(p.a, [&](const auto& a) { with_map(p.b, [&](const auto& b) { d.noalias() = a * b; }); });
        if (p.c) d += packed(*p.c);
        if (p.types.accumulator != formats::fp32) {
            round_all(p.types.accumulator, {d.data(), static_cast<std::size_t>(d.size())});
        }
        for (Index i = 0; i < d.rows(); ++i) {
            for (Index j = 0; j < d.cols(); ++j) p.d(i, j) = d(i, j);
        }
    }
};

}  // namespace

std::unique_ptr<MatmulBackend> make_eigen_backend() { return std::make_unique<EigenBackend>(); }

}  // namespace ulp
