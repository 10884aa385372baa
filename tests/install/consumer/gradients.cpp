// The gradients of the block against central differences, in double: linked with ulplab::engine_fp64.
#include <fmt/core.h>

#include "block.hpp"

int main() {
    ulp::Model model(ulp::recipe_by_name("fp64"), 1);
    const Block block(model, "block", 4);
    const ulp::GradientError error = ulp::check_gradients(model, {2, 3, 4}, block);
    fmt::print("{}\n", error.relative() > 1e-7 ? error.text() : "right");
}
