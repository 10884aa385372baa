// Products as a recipe has them: its operands quantised, its backend asked.
#pragma once

#include <span>
#include <string_view>

#include "engine/tape/run.hpp"
#include "engine/tensor/matrix.hpp"

namespace ulp::inline ULPLAB_MODE {

/// The products of a layer: y = x w, dx = dy w, dw = dy^T x.
enum class ProductPass : std::uint8_t { forward, input_gradient, weight_gradient };
/// "forward", "input gradient", "weight gradient"
std::string_view name_of(ProductPass pass);

/// What a product is for: named in records, and what picks the rules of its operands.
struct ProductPurpose {
    std::string_view layer;  // "fc1/linear"
    ProductPass pass;
    enum class Gradient : std::uint8_t { none, a, b } gradient = Gradient::none;  // which operand is dy
    const ProductRules* rules = nullptr;                                          // none: the recipe's
    bool gradient_used_before = false;  // dy was an operand of another product in this backward pass
    Index part = 0;                     // of products with the same layer and pass: groups, a batch of matrices
    std::int64_t* saturated = nullptr;  // where set, quantised numbers beyond the element format are added to it: past
                                        // the middle between its largest number and the next, were there one
};

/// D = A * B.
struct MatrixProduct {
    BasicMatrixView<const Real> a, b;
    BasicMatrixView<Real> d;
};

/// Products of one shape that do not need each other's results, `purpose.part` of the first; on all threads where the
/// backend's products may run at the same time. By the engine's backend, operands quantised as the rules say (delayed
/// scales from the run, which remembers the operands' magnitudes while it trains); operands lie on the types' grid.
/// Stochastic rounding and fresh signs draw from the run's seed by step, layer, pass, part and operand. In fp64 mode a
/// plain loop over ascending k replaces the backend (whose container is fp32). Returns the bytes of a product's
/// quantised operands.
ByteCount scaled_matmul(const Engine& engine, Run& run, const ProductTypes& types, ProductPurpose purpose,
                        std::span<const MatrixProduct> products);
/// One product.
inline ByteCount scaled_matmul(const Engine& engine, Run& run, const ProductTypes& types, const ProductPurpose& purpose,
                               const BasicMatrixView<const Real>& a, const BasicMatrixView<const Real>& b,
                               const BasicMatrixView<Real>& d) {
    const MatrixProduct product{a, b, d};
    return scaled_matmul(engine, run, types, purpose, std::span(&product, 1));
}

}  // namespace ulp::inline ULPLAB_MODE
