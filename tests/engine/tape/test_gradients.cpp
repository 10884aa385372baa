// Gradients against central differences in fp64: one list of operations. The check itself, and operations of users.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/tape/gradient_check.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tape/pointwise.hpp"
#include "engine/tensor/random.hpp"

namespace {

using namespace ulp;
using Vars = std::vector<BasicVar<double>>;

struct GradientCase {
    std::string name;
    std::vector<Shape> inputs;
    std::function<BasicVar<double>(const Vars&)> result;
};

BasicTensor<double> random_tensor(const Shape& shape, std::uint64_t seed) {
    BasicTensor<double> tensor(shape);
    Random random(seed, "inputs");
    for (double& x : tensor.values()) x = random.normal();
    return tensor;
}

std::vector<GradientCase> gradient_cases() {
    const auto unary = [](const char* name, const std::function<BasicVar<double>(BasicVar<double>)>& f) {
        return GradientCase{name, {{3, 4}}, [f](const Vars& v) { return f(v[0]); }};
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
        {"matmul", {{3, 4}, {4, 2}}, [](const Vars& v) { return matmul(v[0], v[1]); }},
        {"matmul, batched", {{2, 3, 4}, {2, 4, 2}}, [](const Vars& v) { return matmul(v[0], v[1]); }},
        {"matmul, transposed", {{2, 3, 4}, {2, 5, 4}}, [](const Vars& v) { return matmul(v[0], v[1], true); }},
        {"conv2d",
         {{2, 4, 6, 5}, {6, 2, 3, 2}, {6}},
         [](const Vars& v) {
             return conv2d(v[0], v[1], v[2], {.stride = 2, .padding = 1, .dilation = 2, .groups = 2});
         }},
        {"conv1d",
         {{2, 3, 9}, {4, 3, 2}, {4}},
         [](const Vars& v) { return conv1d(v[0], v[1], v[2], {.padding = 2, .dilation = 3}); }},
        {"conv_transpose2d",
         {{2, 4, 3, 2}, {4, 3, 3, 2}, {6}},
         [](const Vars& v) { return conv_transpose2d(v[0], v[1], v[2], {.stride = 2, .padding = 1, .groups = 2}); }},
        {"layer_norm", {{3, 6}, {6}, {6}}, [](const Vars& v) { return layer_norm(v[0], v[1], v[2]); }},
        {"group_norm", {{2, 4, 3}, {4}, {4}}, [](const Vars& v) { return group_norm(v[0], v[1], v[2], 2); }},
        {"batch_norm",
         {{3, 2, 2, 2}, {2}, {2}},
         [](const Vars& v) {
             BasicBatchStatistics<double> running{BasicTensor<double>({2}), BasicTensor<double>({2})};
             return batch_norm(v[0], v[1], v[2], running);
         }},
        {"embedding",
         {{5, 3}},
         [](const Vars& v) {
             return embedding(v[0], {4, 1, 4, 0}, {2, 2});
         }},
        {"add", {{3, 4}, {4}}, [](const Vars& v) { return add(v[0], v[1]); }},
        {"subtract", {{2, 3, 4}, {3, 4}}, [](const Vars& v) { return subtract(v[0], v[1]); }},
        {"multiply", {{3, 4}, {3, 4}}, [](const Vars& v) { return multiply(v[0], v[1]); }},
        {"concat",
         {{3, 2}, {3, 4}},
         [](const Vars& v) {
             return concat<double>({v[0], v[1], v[0]}, 1);
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
    const auto attention = [](bool causal, AttentionOptions options = {}, Index width = 4) {
        return [=](BasicModel<double>& m) -> F {
            const BasicMultiHeadAttention<double> layer(m, "mha", width, 2, options);
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
        {"MultiHeadAttention, scaled scores", {2, 3, 4}, attention(false, {.scale_scores = true})},
        // Wider: a norm of two numbers is nearly a step.
        {"MultiHeadAttention, normalised", {2, 3, 12}, attention(false, {.normalised = true}, 12)},
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
        BasicModel<double> model(recipe_by_name("fp64"), 5);
        const GradientError error = check_gradients(model, test.x, test.make(model));
        CAPTURE(error.text());
        CHECK(error.absolute() < 1e-8);
    }
}

TEST_CASE("the gradient of every operation agrees with central differences") {
    for (const GradientCase& test : gradient_cases()) {
        CAPTURE(test.name);
        const GradientError error = check_gradients(test.inputs, test.result);
        CAPTURE(error.text());
        // h^2 times a third derivative of order 1, plus rounding 1e-16 / h.
        CHECK(error.relative() < 1e-8);
    }
}

TEST_CASE("the check of gradients finds one that is wrong, one that is missing and one that is NaN") {
    const auto cube_with = [](double factor) {
        return [factor](const Vars& v) {
            return pointwise(
                "cube", v[0], [](const auto& s, double x) { return s.mul(x, s.mul(x, x)); },
                [factor](const auto& s, double x, double, double dy) { return s.mul(dy, factor * x * x); });
        };
    };
    CHECK(check_gradients({{3, 4}}, cube_with(3)).relative() < 1e-8);
    const GradientError wrong = check_gradients({{3, 4}}, cube_with(2.9));
    CHECK(wrong.relative() > 1e-3);
    CHECK(wrong.where.starts_with("input 0, element "));
    CHECK(std::isnan(check_gradients({{3, 4}}, cube_with(NAN)).relative()));

    const auto forgetful = [](const Vars& v) {
        return multiply(v[0], v[0].tape->constant(v[1].value()));  // the second input's gradient stops here
    };
    CHECK(check_gradients({{2, 2}, {2, 2}}, forgetful).where.starts_with("input 1, element "));
}

/// A function of the user's own, and the built-in one of the same steps.
template <class Real>
BasicVar<Real> own_sigmoid(BasicVar<Real> x) {
    return pointwise(
        "own_sigmoid", x, [](const auto& s, Real v) { return s.sigmoid(v); },
        [](const auto& s, Real, Real y, Real dy) { return s.mul(dy, s.mul(y, s.sub(1, y))); });
}

/// The same of an operation that is built for spans: x (1 + erf(x / sqrt 2)) / 2 element by element.
template <class Real>
BasicVar<Real> own_gelu(BasicVar<Real> x) {
    const auto below = [](const auto& s, Real v) {
        return s.mul(s.round(0.5), s.add(1, s.erf(s.mul(v, s.round(std::sqrt(0.5))))));
    };
    return pointwise(
        "own_gelu", x, [=](const auto& s, Real v) { return s.mul(v, below(s, v)); },
        [=](const auto& s, Real v, Real, Real dy) {
            const double at_0 = 1 / std::sqrt(2 * std::numbers::pi);
            const Real density = s.mul(s.round(at_0), s.exp(s.mul(s.round(-0.5), s.mul(v, v))));
            return s.mul(dy, s.add(below(s, v), s.mul(v, density)));
        });
}

std::vector<std::uint32_t> bits_of(const Tensor& tensor) {
    std::vector<std::uint32_t> bits;
    for (const float x : tensor.values()) bits.push_back(std::bit_cast<std::uint32_t>(x));
    return bits;
}

TEST_CASE("a user's own operation rounds its steps as the recipe says, bit for bit as a built-in one") {
    for (const char* name : {"fp32", "fp16", "pure_bf16", "mixed_fp16", "fp16+ftz"}) {
        CAPTURE(name);
        const Engine engine(name, "soft:ieee");
        Tape tape(engine);
        const Shape shape{3, 400};  // more than one piece, and a part of one
        Tensor values(shape);
        Random random(7, "values");
        for (float& x : values.values()) x = static_cast<float>(4 * random.normal());
        const auto both = [&](auto f) {
            const Var x = tape.leaf(values);
            const Var y = f(tape.input(Tensor(values)));
            const Var z = f(x);
            tape.backward(mse(z, Tensor(shape)));
            return std::pair{y, x};
        };
        const auto same = [&](auto mine, auto theirs) {
            const auto [own, own_x] = both(mine);
            const auto [builtin, builtin_x] = both(theirs);
            CHECK(own.format() == builtin.format());
            CHECK(bits_of(own.value()) == bits_of(builtin.value()));
            CHECK(bits_of(own_x.gradient()) == bits_of(builtin_x.gradient()));
        };
        same([](Var x) { return own_sigmoid(x); }, [](Var x) { return sigmoid(x); });
        same([](Var x) { return own_gelu(x); }, [](Var x) { return gelu(x); });
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
