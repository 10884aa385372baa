// How operations run: the recipe, the backend, and who watches. An Engine outlives the tapes that use it.
#pragma once

#include <memory>

#include "engine/recipes/operand_scaling.hpp"
#include "engine/recipes/recipe.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/watching/watch.hpp"

namespace ulp {

struct Engine {
    Recipe recipe;
    std::shared_ptr<const MatmulBackend> backend;
    Tap tap;                 // called for every tensor that comes into being, where set
    ProductTap product_tap;  // called for every product, where set
    Watch* watch = nullptr;  // counts, and finds the first infinity, where set
    double loss_scale = 1;   // what the gradients of the current step carry (told to the tap)
    bool training = true;    // dropout drops, batch norm uses and collects the batch's statistics
    std::uint64_t seed = 0;  // of dropout and stochastic rounding, with the step
    std::int64_t step = 0;
    /// What delayed scales remember; shared by copies of the engine.
    std::shared_ptr<ScalingHistory> scaling_history = std::make_shared<ScalingHistory>();

    Engine(Recipe how, std::unique_ptr<MatmulBackend> matmul) : recipe(std::move(how)), backend(std::move(matmul)) {}
    Engine(std::string_view recipe_name, std::string_view backend_spec)
        : Engine(recipe_by_name(recipe_name), make_backend(backend_spec)) {}
};

/// What a product is for: named in records, and which operand is a gradient (FP8 gives gradients more range).
struct ProductPurpose {
    std::string_view layer;
    std::string_view pass;
    enum class Gradient : std::uint8_t { none, a, b } gradient = Gradient::none;
};

/// D = A * B by the engine's backend, with operand scales where the recipe has them; operands lie on the types' grid.
/// In fp64 mode a plain loop over ascending k replaces the backend (whose container is fp32). Returns the bytes of the
/// operands' scaled copies.
template <class Real>
ByteCount scaled_matmul(const Engine& engine, const ProductTypes& types, ProductPurpose purpose,
                        const BasicMatrixView<const Real>& a, const BasicMatrixView<const Real>& b,
                        const BasicMatrixView<Real>& d);

}  // namespace ulp
