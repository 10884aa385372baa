#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "engine/backends.hpp"
#include "engine/ieee_product.hpp"
#include "engine/rounder.hpp"
#include "softfloat/simd_choice.hpp"

namespace ulp {
namespace {

/// fp32 arithmetic is the carrier's own.
struct NativeSteps {
    float operator()(float sum, float a, float b) const { return sum + a * b; }
};
/// Any other accumulator: the exact product, then the exact or innocuously rounded sum, each rounded once from double.
/// A product of two fp32 has 48 bits; the sum of two numbers of at most 24 bits is either exact in double or rounds
/// the same from it (53 >= 2 * 24 + 2).
struct RoundedSteps {
    Rounder<double> round;
    float operator()(float sum, float a, float b) const {
        const double product = round(static_cast<double>(a) * static_cast<double>(b));
        return static_cast<float>(round(static_cast<double>(sum) + product));
    }
};

struct Kernel {
    const char* name;
    void (*run)(const IeeeProduct&);
};
Kernel kernel() {
#ifdef ULPLAB_X86
    const Simd simd = simd_choice();
    if (simd >= Simd::avx512) return {"AVX-512", ieee_product_avx512};
    if (simd == Simd::avx2) return {"AVX2", ieee_product_avx2};
#endif
    return {"portable", ieee_product_portable};
}

constexpr Index worth_threads = Index{1} << 16;  // products of two numbers: a smaller product costs less than threads

/// Whether the product goes through tiles: in fp32, with rows enough that packing B pays.
bool in_tiles(const ProductTypes& types, Index m) { return types.accumulator == formats::fp32 && m >= 4; }

/// D = A * B + C in fp32, each thread a range of D's rows or columns, of which there are more. D is row-major.
void run_in_tiles(const Product& p) {
    if (p.c) {
        for (Index i = 0; i < p.d.rows; ++i) {
            for (Index j = 0; j < p.d.cols; ++j) p.d(i, j) = (*p.c)(i, j);
        }
    }
    const IeeeProduct whole{p.d.rows, p.d.cols,       p.a.cols,       p.a.data, p.a.row_stride, p.a.col_stride,
                            p.b.data, p.b.row_stride, p.b.col_stride, p.d.data, p.d.row_stride, p.c.has_value()};
    constexpr Index grain = 64;  // whole tiles
    const bool rows = whole.m > whole.n;
    const Index lines = rows ? whole.m : whole.n;
    const Index parts = whole.m * whole.n * whole.k > worth_threads ? omp_get_max_threads() : 1;
    const Index size = (lines / parts + grain) / grain * grain;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (Index first = 0; first < lines; first += size) {
        IeeeProduct part = whole;
        (rows ? part.m : part.n) = std::min(size, lines - first);
        (rows ? part.a : part.b) += first * (rows ? whole.a_row_stride : whole.b_col_stride);
        part.d += first * (rows ? whole.d_row_stride : 1);
        kernel().run(part);
    }
}

class IeeeBackend final : public MatmulBackend {
  public:
    [[nodiscard]] std::string name() const override { return "soft:ieee"; }
    [[nodiscard]] std::string claimed_model(const ProductTypes& types) const override {
        return "ieee " + name_of(types);
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index, Index) const override {
        if (in_tiles(types, m)) return fmt::format("tiles, ascending k, each step rounded, {}", kernel().name);
        return "plain loop, ascending k, each step rounded";
    }

  private:
    void compute(const Product& p) const override {
        if (in_tiles(p.types, p.d.rows) && p.d.row_major()) {
            run_in_tiles(p);
        } else if (in_tiles(p.types, p.d.rows)) {
            Matrix d(p.d.rows, p.d.cols);
            run_in_tiles({p.types, p.a, p.b, p.c, d});
            for (Index i = 0; i < d.rows(); ++i) {
                for (Index j = 0; j < d.cols(); ++j) p.d(i, j) = d(i, j);
            }
        } else if (p.types.accumulator == formats::fp32) {
            run(p, NativeSteps{});
        } else {
            run(p, RoundedSteps{Rounder<double>(p.types.accumulator)});
        }
    }

    template <class Step>
    static void run(const Product& p, const Step& step) {
        const Matrix b = p.b.row_major() ? Matrix() : packed(p.b);
        const MatrixView rows_of_b = p.b.row_major() ? p.b : MatrixView(b);
// Threads cost more than a small product.
#pragma omp parallel for schedule(static) if (p.d.rows * p.d.cols * p.a.cols > worth_threads)
        for (Index i = 0; i < p.d.rows; ++i) {
            std::vector<float> sum(static_cast<std::size_t>(p.d.cols));
            if (p.c) {
                for (Index j = 0; j < p.d.cols; ++j) sum[static_cast<std::size_t>(j)] = (*p.c)(i, j);
            }
            for (Index k = 0; k < p.a.cols; ++k) add_outer(step, p.a(i, k), &rows_of_b(k, 0), sum);
            for (Index j = 0; j < p.d.cols; ++j) p.d(i, j) = sum[static_cast<std::size_t>(j)];
        }
    }

    template <class Step>
    static void add_outer(const Step& step, float a, const float* b, std::vector<float>& sum) {
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] = step(sum[j], a, b[j]);
    }
};

}  // namespace

std::unique_ptr<MatmulBackend> make_ieee_backend() { return std::make_unique<IeeeBackend>(); }

}  // namespace ulp
