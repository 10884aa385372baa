#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "engine/kernels/ieee_product.hpp"
#include "engine/products/backends.hpp"
#include "engine/tensor/rounder.hpp"
#include "softfloat/support/parallel.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {
namespace {

const IeeeKernels& kernels() { return kernels_of<IeeeKernels>(simd_choice()); }

/// Threads cost more than a small product.
bool is_parallel(const Product& p) { return worth_threads(p.d.rows * p.d.cols * p.a.cols > (Index{1} << 16)); }

void copy(const MatrixView& from, const MutableMatrixView& to) {
    for (Index i = 0; i < to.rows; ++i) {
        for (Index j = 0; j < to.cols; ++j) to(i, j) = from(i, j);
    }
}

/// In fp32, D row-major: each thread a range of D's rows or columns, of which there are more.
void run_in_tiles(const Product& p) {
    if (p.c) copy(*p.c, p.d);
    const GemmProblem whole{p.a, p.b, {}, p.d};
    constexpr Index grain = 64;  // whole tiles
    const bool rows = whole.m() > whole.n();
    const Index lines = rows ? whole.m() : whole.n();
    const Index parts = is_parallel(p) ? omp_get_max_threads() : 1;
    const Index size = (lines / parts + grain) / grain * grain;
    for_each_index((lines + size - 1) / size, parts > 1, [&](Index i) {
        const Index first = i * size;
        const Index count = std::min(size, lines - first);
        kernels().product(rows ? whole.part(first, 0, count, whole.n()) : whole.part(0, first, whole.m(), count),
                          p.c.has_value());
    });
}

/// With any other accumulator, row by row.
void run_in_rows(const Product& p) {
    const Rounder<double> round(p.types.accumulator);
    const Matrix memory = p.b.row_major() ? Matrix() : packed(p.b);
    const MatrixView b = p.b.row_major() ? p.b : MatrixView(memory);
    for_each_index(p.d.rows, is_parallel(p), [&](Index i) {
        std::vector<float> sums(static_cast<std::size_t>(p.d.cols));
        const MutableMatrixView row(sums.data(), 1, p.d.cols);
        if (p.c) copy(p.c->part(i, 0, 1, p.d.cols), row);
        kernels().rounded_row({p.a.part(i, 0, 1, p.a.cols), b, {}, row}, round);
        for (Index j = 0; j < p.d.cols; ++j) p.d(i, j) = row(0, j);
    });
}

class IeeeBackend final : public MatmulBackend {
  public:
    [[nodiscard]] std::string name() const override { return "soft:ieee"; }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return !types.scaling; }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return "ieee " + name_of(types);
    }
    [[nodiscard]] std::string path(const ProductTypes&, Index, Index, Index) const override {
        return fmt::format("ascending k, each step rounded, {}", kernels().name);
    }

  private:
    void compute(const Product& p) const override {
        if (p.types.accumulator != formats::fp32) return run_in_rows(p);
        if (p.d.row_major()) return run_in_tiles(p);
        if (p.d.col_major()) return run_in_tiles(transposed(p));
        Matrix d(p.d.rows, p.d.cols);
        run_in_tiles({p.types, p.a, p.b, p.c, d});
        copy(d, p.d);
    }
    [[nodiscard]] bool runs_at_once() const override { return true; }
};

}  // namespace

std::unique_ptr<MatmulBackend> make_ieee_backend() { return std::make_unique<IeeeBackend>(); }

}  // namespace ulp
