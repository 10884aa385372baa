#include "engine/products/backends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/kernels/eigen_product.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/tensor/storage.hpp"
#include "softfloat/support/parallel.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

std::vector<BackendFamily> built_in_backends() {
    std::vector<BackendFamily> families = {
        {"soft", tensor_core_arguments(), "a GPU's matrix unit, bit for bit as its model says",
         make_tensor_core_backend, "", "", spelled_tensor_core_argument},
        {.prefix = "soft",
         .arguments = {},
         .description = "a matrix unit that a file describes (docs/unit_files.md)",
         .make = make_unit_file_backend,
         .suffix = ".json"},
        {"soft", {"ieee"}, "each step rounded, ascending k", [](std::string_view) { return make_ieee_backend(); }},
        {"eigen",
         {},
         "Eigen's fp32 product, for speed; claims no bits",
         [](std::string_view) { return make_eigen_backend(); }},
    };
    for (BackendFamily& family : decorator_families()) families.push_back(std::move(family));
    return families;
}

namespace {

const EigenKernels& kernels() { return kernels_of<EigenKernels>(simd_choice()); }

/// A view with one stride of 1: itself, or a copy in `memory`.
MatrixView streamed(const MatrixView& view, Matrix& memory) {
    if (view.row_major() || view.col_major()) return view;
    memory = packed(view);
    return memory;
}

/// D = A * B by blocks of rows of D or of columns, of which it has more, on all threads. The blocks depend on the shape
/// alone, and so the bits do not depend on the number of threads. (Eigen's own threads divide k by their number, and
/// wait for each other in loops that a busy machine makes long.)
void in_blocks(void (*run)(const GemmProblem&), const GemmProblem& p) {
    constexpr Index worth = Index{1} << 21;  // products of two numbers that a block has at least
    constexpr Index most_blocks = 16;        // every block packs the other operand again
    constexpr Index grain = 48;              // whole vectors and whole tiles of Eigen's kernels
    const bool rows = p.m() > p.n();
    const Index count = rows ? p.m() : p.n();
    const Index line = std::max<Index>(1, (rows ? p.n() : p.m()) * p.k());
    const Index least = std::max(worth / line, count / most_blocks);
    const Index block = least / grain * grain + grain;
    const Index blocks = (count + block - 1) / block;
    for_each_index(blocks, worth_threads(blocks > 1), [&](Index i) {  // the last block is short: as threads become free
        const Index first = i * block;
        const Index size = std::min(block, count - first);
        run(rows ? p.part(first, 0, size, p.n()) : p.part(0, first, p.m(), size));
    });
}

class EigenBackend final : public MatmulBackend {
  public:
    [[nodiscard]] std::string name() const override { return "eigen"; }
    [[nodiscard]] std::string identity() const override {
        const EigenOrder order = kernels().order();
        return fmt::format("eigen {}.{}.{}, {} kernel, caches of {}, {} and {} bytes", order.world, order.major,
                           order.minor, kernels().name, order.l1, order.l2, order.l3);
    }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return !types.scaling; }
    [[nodiscard]] std::string promised_model(const ProductTypes&) const override { return {}; }
    [[nodiscard]] std::string path(const ProductTypes&, Index, Index, Index) const override {
        return fmt::format("Eigen's fp32 product, {}", kernels().name);
    }

  private:
    void compute(const Product& p) const override {
        into_rows(p.d.col_major() && !p.d.row_major() ? transposed(p) : p);
    }
    [[nodiscard]] bool runs_at_once() const override { return true; }

    static void into_rows(const Product& p) {
        Matrix a_memory;
        Matrix b_memory;
        const MatrixView a = streamed(p.a, a_memory);
        const MatrixView b = streamed(p.b, b_memory);
        const bool in_place = p.d.row_major() && !p.c;
        Storage<float> memory(in_place ? 0 : static_cast<std::size_t>(p.d.rows * p.d.cols));
        const MutableMatrixView d = in_place ? p.d : MutableMatrixView(memory.data(), p.d.rows, p.d.cols);
        in_blocks(kernels().product, {a, b, {}, d});
        if (p.c) {
            for (Index i = 0; i < p.d.rows; ++i) {
                for (Index j = 0; j < p.d.cols; ++j) d(i, j) += (*p.c)(i, j);
            }
        }
        if (p.types.accumulator != formats::fp32) {
            for (Index i = 0; i < d.rows; ++i) {
                round_all(p.types.accumulator, {&d(i, 0), static_cast<std::size_t>(d.cols)});
            }
        }
        if (in_place) return;
        for (Index i = 0; i < p.d.rows; ++i) {
            for (Index j = 0; j < p.d.cols; ++j) p.d(i, j) = d(i, j);
        }
    }
};

}  // namespace

std::unique_ptr<MatmulBackend> make_eigen_backend() { return std::make_unique<EigenBackend>(); }

}  // namespace ulp
