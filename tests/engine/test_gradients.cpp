// Gradients against central differences in fp64: one list of operations.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/ops.hpp"
#include "engine/random.hpp"

namespace {

using namespace ulp;
using Vars = std::vector<Var<double>>;

struct GradientCase {
    std::string name;
    std::vector<Shape> inputs;
    std::function<Var<double>(const Vars&)> loss;  // one number
};

Tensor<double> random_tensor(const Shape& shape, std::uint64_t seed) {
    Tensor<double> tensor(shape);
    Random random(seed, "inputs");
    for (double& x : tensor.values()) x = random.normal();
    return tensor;
}

double loss_at(const Engine& engine, const GradientCase& test, const std::vector<Tensor<double>>& inputs) {
    Tape<double> tape(engine);
    Vars vars;
    for (const Tensor<double>& input : inputs) vars.push_back(tape.leaf(input));
    return test.loss(vars).value()[0];
}

/// The largest difference between backward() and central differences, relative to the largest gradient.
double worst_error(const GradientCase& test) {
    const Engine engine("fp64", "soft:ieee");
    std::vector<Tensor<double>> inputs;
    for (const Shape& shape : test.inputs) inputs.push_back(random_tensor(shape, inputs.size() + 1));
    Tape<double> tape(engine);
    Vars vars;
    for (const Tensor<double>& input : inputs) vars.push_back(tape.leaf(input));
    tape.backward(test.loss(vars));
    double worst = 0;
    double largest = 1e-3;
    constexpr double h = 1e-5;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (Index j = 0; j < inputs[i].size(); ++j) {
            const double x = inputs[i][j];
            inputs[i][j] = x + h;
            const double above = loss_at(engine, test, inputs);
            inputs[i][j] = x - h;
            const double below = loss_at(engine, test, inputs);
            inputs[i][j] = x;
            const double expected = (above - below) / (2 * h);
            worst = std::max(worst, std::abs(vars[i].gradient()[j] - expected));
            largest = std::max(largest, std::abs(expected));
        }
    }
    return worst / largest;
}

std::vector<GradientCase> gradient_cases() {
    return {
        {"linear",
         {{3, 4}, {5, 4}, {5}},
         [](const Vars& v) {
             return cross_entropy(linear(v[0], v[1], v[2]), {4, 0, 2});
         }},
        {"linear of rank 1",
         {{4}, {6, 4}, {6}, {1, 6}, {1}},
         [](const Vars& v) { return linear(relu(linear(v[0], v[1], v[2])), v[3], v[4]); }},
        {"relu",
         {{4, 6}},
         [](const Vars& v) {
             return cross_entropy(relu(v[0]), {5, 0, 1, 1});
         }},
        {"scale",
         {{2, 6}},
         [](const Vars& v) {
             return cross_entropy(scaled(v[0], -1.75), {5, 0});
         }},
        {"cross_entropy",
         {{3, 7}},
         [](const Vars& v) {
             return scaled(cross_entropy(v[0], {6, 0, 3}), 2.5);
         }},
        {"a value used twice",
         {{3, 4}, {4, 4}, {4}},
         [](const Vars& v) {
             const Var<double> h = relu(linear(v[0], v[1], v[2]));
             return cross_entropy(linear(h, v[1], v[2]), {1, 2, 3});
         }},
    };
}

TEST_CASE("the gradient of every operation agrees with central differences") {
    for (const GradientCase& test : gradient_cases()) {
        CAPTURE(test.name);
        // h^2 times a third derivative of order 1, plus rounding 1e-16 / h.
        CHECK(worst_error(test) < 1e-8);
    }
}

TEST_CASE("backward and gradients refuse what makes no sense") {
    const Engine engine("fp64", "soft:ieee");
    Tape<double> tape(engine);
    const Var<double> x = tape.leaf(random_tensor({2, 3}, 1));
    CHECK_THROWS_WITH_AS(tape.backward(x), "backward starts from one number, not from a tensor of shape (2, 3)",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)x.gradient(), std::logic_error);
    CHECK_THROWS_WITH_AS((void)cross_entropy(x, {0, 3}), "cross_entropy: label 3 lies outside the 3 classes",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)cross_entropy(x, {0, -1}), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)cross_entropy(x, {0}), "cross_entropy: logits (2, 3) need one label a row, not 1",
                         std::invalid_argument);
    const Var<double> nothing = tape.leaf(Tensor<double>({0, 3}));
    CHECK_THROWS_WITH_AS((void)cross_entropy(nothing, {}), "cross_entropy: the batch is empty", std::invalid_argument);
    const Var<double> w = tape.leaf(random_tensor({5, 4}, 2));
    const Var<double> b = tape.leaf(random_tensor({5}, 3));
    CHECK_THROWS_WITH_AS((void)linear(x, w, b), "linear: x (2, 3) does not fit weight (5, 4) (out, in) and bias (5)",
                         std::invalid_argument);
}

}  // namespace
