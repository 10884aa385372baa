// Whether backward() gives the gradients that a function has: central differences in fp64.
//
//     const GradientError error = check_gradients({{3, 4}}, [](const std::vector<BasicVar<double>>& x) { return
//     mish(x[0]); }); if (error.relative() > 1e-8) fmt::print("{}\n", error.text());
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/tape/ops.hpp"

namespace ulp {

struct GradientCheck {
    /// Of the differences (f(x + h) - f(x - h)) / 2h: they are wrong by about h^2 times a third derivative, and 1e-16 /
    /// h.
    double h = 1e-5;
    /// Random inputs: input i has seed + i. Random weights of a result that is not one number: it is replaced by the
    /// sum of its elements times these.
    std::uint64_t seed = 1;
};

/// The gradient's element that is farthest from its difference.
struct GradientError {
    double gradient = 0;
    double difference = 0;
    double largest = 0;  // the largest magnitude of all differences
    std::string where;   // "input 1, element 7", "fc.weight, element 3"

    [[nodiscard]] double absolute() const;
    /// To the largest difference, or to 1e-3 where all are smaller.
    [[nodiscard]] double relative() const;
    /// "fc.weight, element 3: gradient 0.25, central difference 0.5".
    [[nodiscard]] std::string text() const;
};

/// Of a function of tensors with these shapes, at normally distributed numbers.
GradientError check_gradients(const std::vector<Shape>& inputs,
                              const std::function<BasicVar<double>(const std::vector<BasicVar<double>>&)>& f,
                              const GradientCheck& options = {});
/// Of a layer of the model, at x of this shape: the gradients of x and of every parameter. The model has recipe fp64.
GradientError check_gradients(BasicModel<double>& model, const Shape& x,
                              const std::function<BasicVar<double>(BasicVar<double>)>& layer,
                              const GradientCheck& options = {});

}  // namespace ulp
