#include "engine/tape/gradient_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/tensor/random.hpp"

namespace ulp {
namespace {

using Tensor64 = BasicTensor<double>;
using Var64 = BasicVar<double>;

Tensor64 random_tensor(const Shape& shape, std::uint64_t seed) {
    Tensor64 tensor(shape);
    Random random(seed, "inputs");
    for (double& x : tensor.values()) x = random.normal();
    return tensor;
}

/// One number that depends on all of x: itself, or the sum of x_i c_i with fixed random c.
Var64 one_number(Var64 x, const GradientCheck& options) {
    const Index n = x.value().size();
    if (n == 1) return reshape(x, {});
    const Var64 weights = x.tape->constant(random_tensor({n, 1}, options.seed + 98));
    return reshape(matmul(reshape(x, {1, n}), weights), {});
}

/// Compares the gradients of parameters, which `loss` reads, element by element.
void compare(std::deque<BasicParameter<double>>& parameters, double h, const std::function<double()>& loss,
             GradientError& error) {
    for (BasicParameter<double>& p : parameters) {
        for (Index i = 0; i < p.value.size(); ++i) {
            const double before = p.value[i];
            p.value[i] = before + h;
            const double above = loss();
            p.value[i] = before - h;
            const double below = loss();
            p.value[i] = before;
            const double difference = (above - below) / (2 * h);
            const double gradient = p.gradient.empty() ? 0 : p.gradient[i];  // backward() did not reach it
            error.largest = std::max(error.largest, std::abs(difference));
            // So written that a NaN counts as the worst.
            const bool better = std::abs(gradient - difference) <= error.absolute() || std::isnan(error.absolute());
            if (better && !error.where.empty()) continue;
            error.gradient = gradient;
            error.difference = difference;
            error.where = fmt::format("{}, element {}", p.name, i);
        }
    }
}

/// The gradients of the inputs' elements, and of those of a model where there is one.
GradientError check(BasicModel<double>& inputs, BasicModel<double>* model,
                    const std::function<Var64(const std::vector<Var64>&)>& f, const GradientCheck& options) {
    const Engine engine("fp64", "soft:ieee");
    std::uint64_t seed = options.seed;
    for (BasicParameter<double>& input : inputs.parameters()) input.value = random_tensor(input.value.shape(), seed++);
    const auto on = [&](BasicTape<double>& tape) {
        std::vector<Var64> vars;
        for (BasicParameter<double>& input : inputs.parameters()) vars.push_back(tape.parameter(input));
        return one_number(f(vars), options);
    };
    const auto loss = [&] {
        BasicTape<double> tape(engine);
        return on(tape).value()[0];
    };
    if (model != nullptr) model->clear_gradients();
    BasicTape<double> tape(engine);
    tape.backward(on(tape));
    GradientError error;
    compare(inputs.parameters(), options.h, loss, error);
    if (model != nullptr) compare(model->parameters(), options.h, loss, error);
    return error;
}

}  // namespace

double GradientError::absolute() const { return std::abs(gradient - difference); }
double GradientError::relative() const { return absolute() / std::max(largest, 1e-3); }
std::string GradientError::text() const {
    return fmt::format("{}: gradient {}, central difference {}", where, gradient, difference);
}

GradientError check_gradients(const std::vector<Shape>& inputs,
                              const std::function<Var64(const std::vector<Var64>&)>& f, const GradientCheck& options) {
    BasicModel<double> leaves(recipe_by_name("fp64"), 0);
    for (std::size_t i = 0; i < inputs.size(); ++i) leaves.add(fmt::format("input {}", i), inputs[i], {});
    return check(leaves, nullptr, f, options);
}

GradientError check_gradients(BasicModel<double>& model, const Shape& x, const std::function<Var64(Var64)>& layer,
                              const GradientCheck& options) {
    BasicModel<double> leaves(recipe_by_name("fp64"), 0);
    leaves.add("x", x, {});
    return check(
        leaves, &model, [&](const std::vector<Var64>& vars) { return layer(vars[0]); }, options);
}

}  // namespace ulp
