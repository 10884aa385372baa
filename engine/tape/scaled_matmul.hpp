// Products as a recipe has them: its operands scaled, its backend asked.
#pragma once

#include <string_view>

#include "engine/tape/run.hpp"
#include "engine/tensor/matrix.hpp"

namespace ulp {

/// What a product is for: named in records, and which operand is a gradient (FP8 gives gradients more range).
struct ProductPurpose {
    std::string_view layer;
    std::string_view pass;
    enum class Gradient : std::uint8_t { none, a, b } gradient = Gradient::none;
};

/// D = A * B by the engine's backend, with operand scales where the recipe has them (delayed ones from the run, which
/// remembers the operands' magnitudes while it trains); operands lie on the types' grid.
/// In fp64 mode a plain loop over ascending k replaces the backend (whose container is fp32). Returns the bytes of the
/// operands' scaled copies.
template <class Real>
ByteCount scaled_matmul(const Engine& engine, Run& run, const ProductTypes& types, ProductPurpose purpose,
                        const BasicMatrixView<const Real>& a, const BasicMatrixView<const Real>& b,
                        const BasicMatrixView<Real>& d);

}  // namespace ulp
