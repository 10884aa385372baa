// Gradients against central differences in fp64: one list of operations.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/operations/ops.hpp"
#include "engine/tensor/random.hpp"

namespace {

using namespace ulp;
using Vars = std::vector<BasicVar<double>>;

struct GradientCase {
    std::string name;
    std::vector<Shape> inputs;
    std::function<BasicVar<double>(const Vars&)> loss;  // one number
};

BasicTensor<double> random_tensor(const Shape& shape, std::uint64_t seed) {
    BasicTensor<double> tensor(shape);
    Random random(seed, "inputs");
    for (double& x : tensor.values()) x = random.normal();
    return tensor;
}

double loss_at(const Engine& engine, const GradientCase& test, const std::vector<BasicTensor<double>>& inputs) {
    BasicTape<double> tape(engine);
    Vars vars;
    for (const BasicTensor<double>& input : inputs) vars.push_back(tape.leaf(input));
    return test.loss(vars).value()[0];
}

/// The largest difference between backward() and central differences, relative to the largest gradient.
double worst_error(const GradientCase& test) {
    const Engine engine("fp64", "soft:ieee");
    std::vector<BasicTensor<double>> inputs;
    for (const Shape& shape : test.inputs) inputs.push_back(random_tensor(shape, inputs.size() + 1));
    BasicTape<double> tape(engine);
    Vars vars;
    for (const BasicTensor<double>& input : inputs) vars.push_back(tape.leaf(input));
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

/// sum of x_i c_i with fixed random c: turns any result into one number that depends on all of it.
BasicVar<double> weighed(BasicVar<double> x) {
    const Index n = x.value().size();
    const BasicVar<double> row = reshape(x, {1, n});
    return reshape(matmul(row, x.tape->constant(random_tensor({n, 1}, 99))), {});
}

std::vector<GradientCase> gradient_cases() {
    const auto unary = [](const char* name, const std::function<BasicVar<double>(BasicVar<double>)>& f) {
        return GradientCase{name, {{3, 4}}, [f](const Vars& v) { return weighed(f(v[0])); }};
    };
    const BasicTensor<double> target = random_tensor({3, 4}, 50);
    std::vector<GradientCase> cases = {
        {"linear",
         {{3, 4}, {5, 4}, {5}},
         [](const Vars& v) {
             return cross_entropy(linear(v[0], v[1], v[2]), {4, 0, 2});
         }},
        {"linear of rank 1",
         {{4}, {6, 4}, {6}, {1, 6}, {1}},
         [](const Vars& v) { return linear(relu(linear(v[0], v[1], v[2])), v[3], v[4]); }},
        {"matmul", {{3, 4}, {4, 2}}, [](const Vars& v) { return weighed(matmul(v[0], v[1])); }},
        {"matmul, batched", {{2, 3, 4}, {2, 4, 2}}, [](const Vars& v) { return weighed(matmul(v[0], v[1])); }},
        {"matmul, transposed", {{2, 3, 4}, {2, 5, 4}}, [](const Vars& v) { return weighed(matmul(v[0], v[1], true)); }},
        {"conv2d",
         {{2, 4, 6, 5}, {6, 2, 3, 2}, {6}},
         [](const Vars& v) {
             return weighed(conv2d(v[0], v[1], v[2], {.stride = 2, .padding = 1, .dilation = 2, .groups = 2}));
         }},
        {"conv1d",
         {{2, 3, 9}, {4, 3, 2}, {4}},
         [](const Vars& v) { return weighed(conv1d(v[0], v[1], v[2], {.padding = 2, .dilation = 3})); }},
        {"conv_transpose2d",
         {{2, 4, 3, 2}, {4, 3, 3, 2}, {6}},
         [](const Vars& v) {
             return weighed(conv_transpose2d(v[0], v[1], v[2], {.stride = 2, .padding = 1, .groups = 2}));
         }},
        {"layer_norm", {{3, 6}, {6}, {6}}, [](const Vars& v) { return weighed(layer_norm(v[0], v[1], v[2])); }},
        {"group_norm", {{2, 4, 3}, {4}, {4}}, [](const Vars& v) { return weighed(group_norm(v[0], v[1], v[2], 2)); }},
        {"batch_norm",
         {{3, 2, 2, 2}, {2}, {2}},
         [](const Vars& v) {
             BasicBatchStatistics<double> running{BasicTensor<double>({2}), BasicTensor<double>({2})};
             return weighed(batch_norm(v[0], v[1], v[2], running));
         }},
        {"embedding",
         {{5, 3}},
         [](const Vars& v) {
             return weighed(embedding(v[0], {4, 1, 4, 0}, {2, 2}));
         }},
        {"add", {{3, 4}, {4}}, [](const Vars& v) { return weighed(add(v[0], v[1])); }},
        {"subtract", {{2, 3, 4}, {3, 4}}, [](const Vars& v) { return weighed(subtract(v[0], v[1])); }},
        {"multiply", {{3, 4}, {3, 4}}, [](const Vars& v) { return weighed(multiply(v[0], v[1])); }},
        {"concat",
         {{3, 2}, {3, 4}},
         [](const Vars& v) {
             return weighed(concat<double>({v[0], v[1], v[0]}, 1));
         }},
        {"cross_entropy",
         {{3, 7}},
         [](const Vars& v) {
             return scaled(cross_entropy(v[0], {6, 0, 3}), 2.5);
         }},
        {"mse", {{3, 4}}, [target](const Vars& v) { return mse(v[0], target); }},
        {"bce_with_logits", {{3, 4}}, [target](const Vars& v) { return bce_with_logits(v[0], target); }},
        {"ctc",
         {{6, 2, 4}},
         [](const Vars& v) {
             return ctc<double>(log_softmax(v[0]), {{{1, 1, 3}, 6}, {{2}, 4}}, 0);
         }},
        {"a value used twice",
         {{3, 4}, {4, 4}, {4}},
         [](const Vars& v) {
             const BasicVar<double> h = relu(linear(v[0], v[1], v[2]));
             return cross_entropy(linear(h, v[1], v[2]), {1, 2, 3});
         }},
    };
    cases.push_back(unary("relu", [](BasicVar<double> x) { return relu(x); }));
    cases.push_back(unary("leaky_relu", [](BasicVar<double> x) { return leaky_relu(x, 0.1); }));
    cases.push_back(unary("sigmoid", [](BasicVar<double> x) { return sigmoid(x); }));
    cases.push_back(unary("tanh", [](BasicVar<double> x) { return ulp::tanh(x); }));
    cases.push_back(unary("gelu", [](BasicVar<double> x) { return gelu(x); }));
    cases.push_back(unary("scale", [](BasicVar<double> x) { return scaled(x, -1.75); }));
    cases.push_back(unary("softmax", [](BasicVar<double> x) { return softmax(x); }));
    cases.push_back(unary("log_softmax", [](BasicVar<double> x) { return log_softmax(x); }));
    cases.push_back(unary("dropout", [](BasicVar<double> x) { return dropout(x, 0.4); }));
    cases.push_back(unary("reshape", [](BasicVar<double> x) { return reshape(x, {2, 6}); }));
    cases.push_back(unary("permute", [](BasicVar<double> x) { return permute(reshape(x, {2, 3, 2}), {2, 0, 1}); }));
    cases.push_back(unary("slice", [](BasicVar<double> x) { return slice(x, -1, 1, 2); }));
    cases.push_back(unary("causal_mask", [](BasicVar<double> x) { return softmax(causal_mask(slice(x, 1, 0, 3))); }));
    cases.push_back(unary("max_pool2d", [](BasicVar<double> x) { return max_pool2d(reshape(x, {1, 1, 3, 4}), 2); }));
    cases.push_back(unary("avg_pool2d", [](BasicVar<double> x) { return avg_pool2d(reshape(x, {1, 1, 3, 4}), 2); }));
    return cases;
}

/// Layers that own their parameters: the gradient of every parameter and of x.
struct LayerCase {
    std::string name;
    Shape x;
    std::function<std::function<BasicVar<double>(BasicVar<double>)>(BasicModel<double>&)> make;
};

std::vector<LayerCase> layer_cases() {
    using F = std::function<BasicVar<double>(BasicVar<double>)>;
    const auto attention = [](bool causal) {
        return [causal](BasicModel<double>& m) -> F {
            const BasicMultiHeadAttention<double> layer(m, "mha", 4, 2);
            return [layer, causal](BasicVar<double> x) { return layer(x, causal); };
        };
    };
    return {
        {"Linear", {3, 4}, [](BasicModel<double>& m) -> F { return BasicLinear<double>(m, "fc", 4, 5); }},
        {"Mlp",
         {3, 4},
         [](BasicModel<double>& m) -> F {
             return BasicMlp<double>(m, {4, 5, 2});
         }},
        {"Conv2d",
         {2, 2, 5, 4},
         [](BasicModel<double>& m) -> F {
             return BasicConv2d<double>(m, "conv", 2, 4, 3, {.padding = 1, .groups = 2});
         }},
        {"Conv1d",
         {2, 2, 7},
         [](BasicModel<double>& m) -> F { return BasicConv1d<double>(m, "conv", 2, 3, 3, {.stride = 2}); }},
        {"ConvTranspose2d",
         {2, 2, 3, 2},
         [](BasicModel<double>& m) -> F { return BasicConvTranspose2d<double>(m, "conv", 2, 3, 3, {.stride = 2}); }},
        {"LayerNorm", {3, 6}, [](BasicModel<double>& m) -> F { return BasicLayerNorm<double>(m, "norm", 6); }},
        {"GroupNorm", {2, 4, 3}, [](BasicModel<double>& m) -> F { return BasicGroupNorm<double>(m, "norm", 2, 4); }},
        {"BatchNorm", {3, 2, 2, 2}, [](BasicModel<double>& m) -> F { return BasicBatchNorm<double>(m, "norm", 2); }},
        {"Embedding",
         {2, 2, 3},
         [](BasicModel<double>& m) -> F {
             const BasicEmbedding<double> layer(m, "table", 5, 3);
             return [layer](BasicVar<double> x) { return add(x, layer(*x.tape, {4, 1, 4, 0}, {2, 2})); };
         }},
        {"Lstm", {3, 2, 3}, [](BasicModel<double>& m) -> F { return BasicLstm<double>(m, "cell", 3, 4); }},
        {"Gru", {3, 2, 3}, [](BasicModel<double>& m) -> F { return BasicGru<double>(m, "cell", 3, 4); }},
        {"MultiplicativeLstm",
         {3, 2, 3},
         [](BasicModel<double>& m) -> F { return BasicMultiplicativeLstm<double>(m, "cell", 3, 4); }},
        {"MultiHeadAttention", {2, 3, 4}, attention(false)},
        {"MultiHeadAttention, causal", {2, 3, 4}, attention(true)},
        {"residual",
         {2, 4},
         [](BasicModel<double>& m) -> F {
             const BasicLinear<double> layer(m, "fc", 4, 4);
             return [layer](BasicVar<double> x) { return residual(x, layer); };
         }},
    };
}

TEST_CASE("the gradients of layers with parameters agree with central differences") {
    for (const LayerCase& test : layer_cases()) {
        CAPTURE(test.name);
        const Engine engine("fp64", "soft:ieee");
        BasicModel<double> model(engine.recipe, 5);
        const auto layer = test.make(model);
        BasicTensor<double> x = random_tensor(test.x, 1);
        const auto loss = [&] {
            BasicTape<double> tape(engine);
            return weighed(layer(tape.leaf(x))).value()[0];
        };
        BasicTape<double> tape(engine);
        const BasicVar<double> input = tape.leaf(x);
        tape.backward(weighed(layer(input)));
        double worst = 0;
        const auto check = [&](BasicTensor<double>& values, const BasicTensor<double>& gradient) {
            constexpr double h = 1e-5;
            for (Index i = 0; i < values.size(); ++i) {
                const double before = values[i];
                values[i] = before + h;
                const double above = loss();
                values[i] = before - h;
                const double below = loss();
                values[i] = before;
                worst = std::max(worst, std::abs(gradient[i] - (above - below) / (2 * h)));
            }
        };
        check(x, input.gradient());
        for (BasicParameter<double>& parameter : model.parameters()) check(parameter.value, parameter.gradient);
        CHECK(worst < 1e-8);
    }
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
    BasicTape<double> tape(engine);
    const BasicVar<double> x = tape.leaf(random_tensor({2, 3}, 1));
    CHECK_THROWS_WITH_AS(tape.backward(x), "backward starts from one number, not from a tensor of shape (2, 3)",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)x.gradient(), std::logic_error);
    CHECK_THROWS_WITH_AS((void)cross_entropy(x, {0, 3}), "cross_entropy: label 3 lies outside the 3 classes",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)cross_entropy(x, {0, -1}), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)cross_entropy(x, {0}), "cross_entropy: logits (2, 3) need one label a row, not 1",
                         std::invalid_argument);
    const BasicVar<double> nothing = tape.leaf(BasicTensor<double>({0, 3}));
    CHECK_THROWS_WITH_AS((void)cross_entropy(nothing, {}), "cross_entropy: the batch is empty", std::invalid_argument);
    const BasicVar<double> w = tape.leaf(random_tensor({5, 4}, 2));
    const BasicVar<double> b = tape.leaf(random_tensor({5}, 3));
    const BasicTensor<double> image = random_tensor({1, 2, 4, 4}, 4);
    const auto leaf = [&](Shape shape) { return tape.leaf(BasicTensor<double>(std::move(shape))); };
    CHECK_THROWS_WITH_AS((void)conv2d(tape.leaf(image), leaf({3, 3, 2, 2}), leaf({3})),
                         "conv2d: x (1, 2, 4, 4) does not fit weight (3, 3, 2, 2) and bias (3) with these options",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)conv2d(tape.leaf(image), leaf({3, 2, 5, 5}), leaf({3})), std::invalid_argument);
    CHECK_THROWS_AS((void)conv2d(tape.leaf(image), leaf({3, 2, 2, 2}), leaf({3}), {.stride = 0}),
                    std::invalid_argument);
    CHECK_THROWS_AS((void)conv_transpose2d(tape.leaf(image), leaf({3, 2, 2, 2}), leaf({2})), std::invalid_argument);
    CHECK_THROWS_AS((void)conv1d(x, leaf({3, 2, 2}), leaf({3})), std::invalid_argument);
    CHECK_THROWS_AS((void)max_pool2d(tape.leaf(image), 5), std::invalid_argument);
    CHECK_THROWS_AS((void)layer_norm(x, leaf({2}), leaf({2})), std::invalid_argument);
    CHECK_THROWS_AS((void)group_norm(tape.leaf(image), leaf({2}), leaf({2}), 3), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)embedding(leaf({5, 2}), {0, 5}, {2}),
                         "embedding: token 5 lies outside the vocabulary of 5", std::invalid_argument);
    CHECK_THROWS_AS((void)embedding(leaf({5, 2}), {0}, {2}), std::invalid_argument);
    CHECK_THROWS_AS((void)matmul(leaf({2, 3}), leaf({2, 3})), std::invalid_argument);
    CHECK_THROWS_AS((void)add(leaf({2, 3}), leaf({2})), std::invalid_argument);
    CHECK_THROWS_AS((void)slice(x, 1, 2, 2), std::invalid_argument);
    CHECK_THROWS_AS((void)permute(x, {0, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)concat<double>({x, leaf({3, 4})}, 1), std::invalid_argument);
    CHECK_THROWS_AS((void)reshape(x, {7}), std::invalid_argument);
    CHECK_THROWS_AS((void)dropout(x, 1.0), std::invalid_argument);
    CHECK_THROWS_AS((void)mse(x, BasicTensor<double>({3})), std::invalid_argument);
    CHECK_THROWS_AS((void)causal_mask(x), std::invalid_argument);
    CHECK_THROWS_AS((void)ctc<double>(leaf({4, 1, 3}), {{{3}, 4}}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)ctc<double>(leaf({4, 1, 3}), {{{1}, 5}}, 0), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)linear(x, w, b), "linear: x (2, 3) does not fit weight (5, 4) (out, in) and bias (5)",
                         std::invalid_argument);
}

}  // namespace
