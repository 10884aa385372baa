#include "engine/engine.hpp"

#include <vector>

#include "engine/rounder.hpp"

namespace ulp {

template <>
void product(const Engine& engine, const ProductTypes& types, ProductPurpose purpose, const StridedView<const float>& a,
             const StridedView<const float>& b, float* d) {
    if (engine.product_tap) {
        engine.product_tap({purpose.layer, purpose.pass, types, a.rows, b.cols, a.cols,
                            engine.backend->path(types, a.rows, b.cols, a.cols)});
    }
    engine.backend->multiply({types, a, b, std::nullopt, {d, a.rows, b.cols}});
}

template <>
void product(const Engine&, const ProductTypes&, ProductPurpose, const StridedView<const double>& a,
             const StridedView<const double>& b, double* d) {
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < b.cols; ++j) {
            double sum = 0;
            for (Index k = 0; k < a.cols; ++k) sum += a(i, k) * b(k, j);
            d[i * b.cols + j] = sum;
        }
    }
}

}  // namespace ulp
