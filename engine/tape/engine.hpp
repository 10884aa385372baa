// How operations compute: the recipe and the backend. An Engine outlives the tapes that use it.
#pragma once

#include <memory>

#include "engine/recipes/recipe.hpp"

namespace ulp {

/// How operations compute. Constant: what moves is a Run (engine/tape/run.hpp).
struct Engine {
    const Recipe recipe;
    const std::shared_ptr<const MatmulBackend> backend;

    Engine(Recipe how, std::unique_ptr<MatmulBackend> matmul) : recipe(std::move(how)), backend(std::move(matmul)) {}
    /// Another recipe on the backend of an engine.
    Engine(Recipe how, std::shared_ptr<const MatmulBackend> matmul)
        : recipe(std::move(how)), backend(std::move(matmul)) {}
    Engine(std::string_view recipe_name, std::string_view backend_spec)
        : Engine(recipe_by_name(recipe_name), make_backend(backend_spec)) {}
};

}  // namespace ulp
