// Gradients against central differences in fp64 mode: one list of operations, and the check itself.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/tape/gradient_check.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tape/pointwise.hpp"
#include "engine/tensor/random.hpp"

namespace {

using namespace ulp;
using Vars = std::vector<Var>;

struct GradientCase {
    std::string name;
    std::vector<Shape> inputs;
    std::function<Var(const Vars&)> result;
};

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
    Tensor tensor(shape);
    Random random(seed, "inputs");
    for (double& x : tensor.values()) x = random.normal();
    return tensor;
}

std::vector<GradientCase> gradient_cases() {
    const auto unary = [](const char* name, const std::function<Var(Var)>& f) {
        return GradientCase{name, {{3, 4}}, [f](const Vars& v) { return f(v[0]); }};
    };
    const Tensor target = random_tensor({3, 4}, 50);
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
        {"linear without bias", {{3, 4}, {5, 4}}, [](const Vars& v) { return linear(v[0], v[1]); }},
        {"conv2d without bias",
         {{2, 2, 4, 4}, {3, 2, 3, 3}},
         [](const Vars& v) { return conv2d(v[0], v[1], std::nullopt); }},
        {"rms_norm", {{3, 6}, {6}}, [](const Vars& v) { return rms_norm(v[0], v[1]); }},
        {"rotary", {{2, 3, 6}}, [](const Vars& v) { return rotary(v[0], {}); }},
        {"rotary, adjacent", {{3, 4}}, [](const Vars& v) { return rotary(v[0], {.base = 100, .adjacent = true}); }},
        {"repeat", {{2, 3, 2}}, [](const Vars& v) { return repeat(v[0], 1, 3); }},
        {"top_k_softmax", {{4, 5}}, [](const Vars& v) { return top_k_softmax(v[0], 2); }},
        {"select_rows",
         {{4, 3}},
         [](const Vars& v) {
             return select_rows(v[0], {2, 0, 2});
         }},
        {"multiply_rows", {{4, 3}, {4, 1}}, [](const Vars& v) { return multiply_rows(v[0], v[1]); }},
        {"add_rows",
         {{2, 3}, {3, 3}},
         [](const Vars& v) {
             return add_rows({v[0], v[1]}, {{0, 2}, {0, 1, 2}}, 4);
         }},
        {"group_norm", {{2, 4, 3}, {4}, {4}}, [](const Vars& v) { return group_norm(v[0], v[1], v[2], 2); }},
        {"batch_norm",
         {{3, 2, 2, 2}, {2}, {2}},
         [](const Vars& v) {
             BatchStatistics running{Tensor({2}), Tensor({2})};
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
             return concat({v[0], v[1], v[0]}, 1);
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
             return ctc(log_softmax(v[0]), {{{1, 1, 3}, 6}, {{2}, 4}}, 0);
         }},
        {"a value used twice",
         {{3, 4}, {4, 4}, {4}},
         [](const Vars& v) {
             const Var h = relu(linear(v[0], v[1], v[2]));
             return cross_entropy(linear(h, v[1], v[2]), {1, 2, 3});
         }},
    };
    cases.push_back(unary("relu", [](Var x) { return relu(x); }));
    cases.push_back(unary("leaky_relu", [](Var x) { return leaky_relu(x, 0.1); }));
    cases.push_back(unary("sigmoid", [](Var x) { return sigmoid(x); }));
    cases.push_back(unary("tanh", [](Var x) { return ulp::tanh(x); }));
    cases.push_back(unary("gelu", [](Var x) { return gelu(x); }));
    cases.push_back(unary("silu", [](Var x) { return silu(x); }));
    cases.push_back(unary("scale", [](Var x) { return scaled(x, -1.75); }));
    cases.push_back(unary("softmax", [](Var x) { return softmax(x); }));
    cases.push_back(unary("log_softmax", [](Var x) { return log_softmax(x); }));
    cases.push_back(unary("dropout", [](Var x) { return dropout(x, 0.4); }));
    cases.push_back(unary("reshape", [](Var x) { return reshape(x, {2, 6}); }));
    cases.push_back(unary("permute", [](Var x) { return permute(reshape(x, {2, 3, 2}), {2, 0, 1}); }));
    cases.push_back(unary("slice", [](Var x) { return slice(x, -1, 1, 2); }));
    cases.push_back(unary("causal_mask", [](Var x) { return softmax(causal_mask(slice(x, 1, 0, 3))); }));
    cases.push_back(unary("max_pool2d", [](Var x) { return max_pool2d(reshape(x, {1, 1, 3, 4}), 2); }));
    cases.push_back(unary("avg_pool2d", [](Var x) { return avg_pool2d(reshape(x, {1, 1, 3, 4}), 2); }));
    return cases;
}

/// Layers that own their parameters: the gradient of every parameter and of x.
struct LayerCase {
    std::string name;
    Shape x;
    std::function<std::function<Var(Var)>(Model&)> make;
};

std::vector<LayerCase> layer_cases() {
    using F = std::function<Var(Var)>;
    const auto attention = [](bool causal, AttentionOptions options = {}, Index width = 4) {
        return [=](Model& m) -> F {
            const MultiHeadAttention layer(m, "mha", width, 2, options);
            return [layer, causal](Var x) { return layer(x, causal); };
        };
    };
    return {
        {"Linear", {3, 4}, [](Model& m) -> F { return Linear(m, "fc", 4, 5); }},
        {"Mlp",
         {3, 4},
         [](Model& m) -> F {
             return Mlp(m, {4, 5, 2});
         }},
        {"Conv2d", {2, 2, 5, 4}, [](Model& m) -> F { return Conv2d(m, "conv", 2, 4, 3, {.padding = 1, .groups = 2}); }},
        {"Conv1d", {2, 2, 7}, [](Model& m) -> F { return Conv1d(m, "conv", 2, 3, 3, {.stride = 2}); }},
        {"ConvTranspose2d",
         {2, 2, 3, 2},
         [](Model& m) -> F { return ConvTranspose2d(m, "conv", 2, 3, 3, {.stride = 2}); }},
        {"LayerNorm", {3, 6}, [](Model& m) -> F { return LayerNorm(m, "norm", 6); }},
        {"GroupNorm", {2, 4, 3}, [](Model& m) -> F { return GroupNorm(m, "norm", 2, 4); }},
        {"BatchNorm", {3, 2, 2, 2}, [](Model& m) -> F { return BatchNorm(m, "norm", 2); }},
        {"Embedding",
         {2, 2, 3},
         [](Model& m) -> F {
             const Embedding layer(m, "table", 5, 3);
             return [layer](Var x) { return add(x, layer(*x.tape, {4, 1, 4, 0}, {2, 2})); };
         }},
        {"Lstm", {3, 2, 3}, [](Model& m) -> F { return Lstm(m, "cell", 3, 4); }},
        {"Gru", {3, 2, 3}, [](Model& m) -> F { return Gru(m, "cell", 3, 4); }},
        {"MultiplicativeLstm", {3, 2, 3}, [](Model& m) -> F { return MultiplicativeLstm(m, "cell", 3, 4); }},
        {"MultiHeadAttention", {2, 3, 4}, attention(false)},
        {"MultiHeadAttention, causal", {2, 3, 4}, attention(true)},
        {"MultiHeadAttention, scaled scores", {2, 3, 4}, attention(false, {.scale_scores = true})},
        // Wider: a norm of two numbers is nearly a step.
        {"MultiHeadAttention, normalised", {2, 3, 12}, attention(false, {.normalised = true}, 12)},
        {"RmsNorm", {3, 6}, [](Model& m) -> F { return RmsNorm(m, "norm", 6); }},
        {"GroupedAttention",
         {2, 3, 6},
         [](Model& m) -> F { return GroupedAttention(m, "gqa", 6, {.heads = 3, .head_width = 2, .causal = false}); }},
        {"GroupedAttention, few keys, rotary, causal",
         {2, 3, 8},
         [](Model& m) -> F {
             return GroupedAttention(m, "gqa", 8, {.heads = 4, .key_value_heads = 2, .biased = true, .rotary = {{}}});
         }},
        {"residual",
         {2, 4},
         [](Model& m) -> F {
             const Linear layer(m, "fc", 4, 4);
             return [layer](Var x) { return residual(x, layer); };
         }},
    };
}

TEST_CASE("the gradients of layers with parameters agree with central differences") {
    for (const LayerCase& test : layer_cases()) {
        CAPTURE(test.name);
        Model model(recipe_by_name("fp64"), 5);
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

TEST_CASE("backward and gradients refuse what makes no sense") {
    const Engine engine("fp64", "soft:ieee");
    Tape tape(engine);
    const Var x = tape.leaf(random_tensor({2, 3}, 1));
    CHECK_THROWS_WITH_AS(tape.backward(x), "backward starts from one number, not from a tensor of shape (2, 3)",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)x.gradient(), std::logic_error);
    CHECK_THROWS_WITH_AS((void)cross_entropy(x, {0, 3}), "cross_entropy: label 3 lies outside the 3 classes",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)cross_entropy(x, {0, -1}), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)cross_entropy(x, {0}), "cross_entropy: logits (2, 3) need one label a row, not 1",
                         std::invalid_argument);
    const Var nothing = tape.leaf(Tensor({0, 3}));
    CHECK_THROWS_WITH_AS((void)cross_entropy(nothing, {}), "cross_entropy: the batch is empty", std::invalid_argument);
    const Var w = tape.leaf(random_tensor({5, 4}, 2));
    const Var b = tape.leaf(random_tensor({5}, 3));
    const Tensor image = random_tensor({1, 2, 4, 4}, 4);
    const auto leaf = [&](Shape shape) { return tape.leaf(Tensor(std::move(shape))); };
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
    CHECK_THROWS_AS((void)concat({x, leaf({3, 4})}, 1), std::invalid_argument);
    CHECK_THROWS_AS((void)reshape(x, {7}), std::invalid_argument);
    CHECK_THROWS_AS((void)dropout(x, 1.0), std::invalid_argument);
    CHECK_THROWS_AS((void)mse(x, Tensor({3})), std::invalid_argument);
    CHECK_THROWS_AS((void)causal_mask(x), std::invalid_argument);
    CHECK_THROWS_AS((void)ctc(leaf({4, 1, 3}), {{{3}, 4}}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)ctc(leaf({4, 1, 3}), {{{1}, 5}}, 0), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)linear(x, w, b), "linear: x (2, 3) does not fit weight (5, 4) (out, in) and bias (5)",
                         std::invalid_argument);
}

}  // namespace
