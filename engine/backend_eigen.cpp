#include <fmt/format.h>

#include <vector>

#include "engine/backends.hpp"
#include "engine/eigen_product.hpp"
#include "engine/rounder.hpp"
#include "engine/storage.hpp"
#include "softfloat/simd_choice.hpp"

namespace ulp {
namespace {

struct Kernel {
    const char* name;
    void (*run)(const EigenProduct&);
};
Kernel kernel() {
#ifdef ULPLAB_X86
    const Simd simd = simd_choice();
    if (simd >= Simd::avx512) return {"AVX-512", eigen_product_avx512};
    if (simd == Simd::avx2) return {"AVX2", eigen_product_avx2};
#endif
    return {"portable", eigen_product_portable};
}

/// A view with one stride of 1: itself, or a copy in `memory`.
MatrixView streamed(const MatrixView& view, Matrix& memory) {
    if (view.row_major() || view.col_major()) return view;
    memory = packed(view);
    return memory;
}

class EigenBackend final : public MatmulBackend {
  public:
    [[nodiscard]] std::string name() const override { return "eigen"; }
    [[nodiscard]] std::string claimed_model(const ProductTypes&) const override { return {}; }
    [[nodiscard]] std::string path(const ProductTypes&, Index, Index, Index) const override {
        return fmt::format("Eigen's fp32 product, {}", kernel().name);
    }

  private:
    void compute(const Product& p) const override {
        if (p.d.col_major() && !p.d.row_major()) {  // D^T = B^T A^T
            const MatrixView a = p.b.transposed();
            const MatrixView b = p.a.transposed();
            const ProductTypes types{p.types.b_input, p.types.accumulator, p.types.input};
            const auto c = p.c ? std::optional(p.c->transposed()) : std::nullopt;
            return into_rows({types, a, b, c, p.d.transposed()});
        }
        into_rows(p);
    }

    static void into_rows(const Product& p) {
        Matrix a_memory;
        Matrix b_memory;
        const MatrixView a = streamed(p.a, a_memory);
        const MatrixView b = streamed(p.b, b_memory);
        const bool in_place = p.d.row_major() && p.d.row_stride == p.d.cols && !p.c;
        Storage<float> memory(in_place ? 0 : static_cast<std::size_t>(p.d.rows * p.d.cols));
        float* d = in_place ? p.d.data : memory.data();
        kernel().run(
            {p.d.rows, p.d.cols, p.a.cols, a.data, a.row_stride, a.col_stride, b.data, b.row_stride, b.col_stride, d});
        if (p.c) {
            for (Index i = 0; i < p.d.rows; ++i) {
                for (Index j = 0; j < p.d.cols; ++j) d[i * p.d.cols + j] += (*p.c)(i, j);
            }
        }
        if (p.types.accumulator != formats::fp32) {
            round_all(p.types.accumulator, {d, static_cast<std::size_t>(p.d.rows * p.d.cols)});
        }
        if (in_place) return;
        for (Index i = 0; i < p.d.rows; ++i) {
            for (Index j = 0; j < p.d.cols; ++j) p.d(i, j) = d[i * p.d.cols + j];
        }
    }
};

}  // namespace

std::unique_ptr<MatmulBackend> make_eigen_backend() { return std::make_unique<EigenBackend>(); }

}  // namespace ulp
