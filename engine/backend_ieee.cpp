#include <vector>

#include "engine/backends.hpp"
#include "engine/rounder.hpp"

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

class IeeeBackend final : public MatmulBackend {
  public:
    [[nodiscard]] std::string name() const override { return "soft:ieee"; }
    [[nodiscard]] std::string claimed_model(const ProductTypes& types) const override {
        return "ieee " + name_of(types);
    }
    [[nodiscard]] std::string path(const ProductTypes&, Index, Index, Index) const override {
        return "plain loop, ascending k, each step rounded";
    }

  private:
    void compute(const Product& p) const override {
        if (p.types.accumulator == formats::fp32) {
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
#pragma omp parallel for schedule(static) if (p.d.rows * p.d.cols * p.a.cols > (Index{1} << 16))
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
