// Results worked out by hand: NaN through pools and relu, the statistics of batch norm, Nesterov's momentum, Sophia's
// clip on both sides, operations of users, and the names of attention's operations.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "engine/layers/attention.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tape/pointwise.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/optimizer.hpp"

namespace {

using namespace ulp;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("a NaN in a window of max_pool2d is the window's result, wherever it lies, and its gradient goes there") {
    const Engine engine("fp32", "soft:ieee");
    for (Index place = 0; place < 4; ++place) {
        CAPTURE(place);
        Tape tape(engine);
        std::vector<float> numbers = {1.0F, -2.0F, 3.0F, 2.5F};
        numbers[static_cast<std::size_t>(place)] = nan;
        const Var x = tape.leaf(Tensor({1, 1, 2, 2}, numbers));
        const Var y = max_pool2d(x, 2);
        CHECK(std::isnan(y.value()[0]));
        tape.backward(reshape(y, {}));
        for (Index i = 0; i < 4; ++i) CHECK(x.gradient()[i] == (i == place ? 1.0F : 0.0F));
    }
    Tape tape(engine);
    const Var y = max_pool2d(tape.leaf(Tensor({1, 1, 2, 2}, std::vector<float>{1.0F, 3.0F, 3.0F, -2.0F})), 2);
    CHECK(y.value()[0] == 3.0F);
}

TEST_CASE("relu lets a NaN pass, forward and backward") {
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Var x = tape.leaf(Tensor({3}, std::vector<float>{nan, -1.0F, 2.0F}));
    const Var y = relu(x);
    CHECK(std::isnan(y.value()[0]));
    CHECK(y.value()[1] == 0.0F);
    CHECK(y.value()[2] == 2.0F);
    tape.backward(reshape(slice(y, 0, 0, 1), {}));
    CHECK(x.gradient()[0] == 1.0F);
    CHECK(x.gradient()[1] == 0.0F);
}

TEST_CASE("an operand that fits the last dimension alone gets the sum of its gradients") {
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Var x = tape.leaf(Tensor({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
    const Var b = tape.leaf(Tensor({3}, std::vector<float>{1, 2, 3}));
    tape.backward(mse(multiply(x, b), Tensor({2, 3}), Reduction::sum));  // 2 b (x1 x1 + x2 x2)
    CHECK(std::ranges::equal(b.gradient().values(), std::array{34.0F, 116.0F, 270.0F}));
}

TEST_CASE("a convolution's sums are rounded to the format that it computes in before the bias is added") {
    const Engine engine("pure_bf16", "soft:ieee");  // whose products have sums in fp32
    Tape tape(engine);
    const auto leaf = [&](const Shape& shape, const std::vector<float>& numbers) {
        Tensor tensor(shape, numbers);
        tensor.set_format(formats::bf16);
        return tape.leaf(std::move(tensor));
    };
    const Var x = leaf({1, 2, 1, 1}, {1, 0x1p-8F}), w = leaf({1, 2, 1, 1}, {1, 1}), b = leaf({1}, {0x1.8p-9F});
    CHECK(conv2d(x, w, b).value()[0] == 1);  // of 1 + 1.75 * 2^-8 it would be 1 + 2^-7
}

TEST_CASE("batch norm divides by n and remembers the variance over n - 1") {
    const Engine engine("fp32", "soft:ieee");
    Model model(engine.recipe, 1);
    BatchStatistics& running = model.add_statistics("bn", 1);
    Run run;
    Tape tape(engine, run);
    // Mean 3, squares 4 + 0 + 0 + 4 = 8: variance 2, unbiased 8 / 3.
    const Var x = tape.leaf(Tensor({4, 1}, std::vector<float>{1.0F, 3.0F, 3.0F, 5.0F}));
    const Var w = tape.leaf(Tensor({1}, std::vector<float>{1.0F}));
    const Var b = tape.leaf(Tensor({1}));
    const Var y = batch_norm(x, w, b, running, {.eps = 0, .momentum = 0.25});
    CHECK(y.value()[3] == doctest::Approx(std::sqrt(2.0)));
    CHECK(running.mean[0] == 0.75F);
    CHECK(running.variance[0] == doctest::Approx(0.75 + 0.25 * 8.0 / 3.0));
}

/// The weight after each of three steps with the gradients 1, 2, 4 at rate 0.5, from 1.
std::vector<double> sgd_path(const OptimizerOptions& options) {
    Model model(recipe_by_name("fp32"), 1);
    Parameter& w = model.add("w", {1}, Init::constant(1));
    Optimizer optimizer(model, options);
    std::vector<double> path;
    for (const float g : {1.0F, 2.0F, 4.0F}) {
        w.gradient = Tensor({1}, std::vector<float>{g});
        optimizer.step();
        path.push_back(w.value[0]);
    }
    return path;
}

TEST_CASE("Nesterov's momentum looks one step ahead") {
    // v = 1, 2.5, 5.25. Plain: w -= v / 2. Nesterov: w -= (g + v / 2) / 2, which is 1.5, 3.25, 6.625 halved.
    CHECK(sgd_path({.learning_rate = 0.5, .momentum = 0.5}) == std::vector<double>{0.5, -0.75, -3.375});
    CHECK(sgd_path({.learning_rate = 0.5, .momentum = 0.5, .nesterov = true}) ==
          std::vector<double>{0.25, -1.375, -4.6875});
}

TEST_CASE("Sophia clips an update at 1 and at -1") {
    Model model(recipe_by_name("fp32"), 1);
    Parameter& w = model.add("w", {3}, Init::constant(1));
    Optimizer optimizer(model, {.kind = OptimizerKind::sophia, .learning_rate = 0.25, .eps = 1.0});
    // Without a curvature the direction is m / eps = (1 - beta1) g: 2, -2 and -0.5.
    w.gradient = Tensor({3}, std::vector<float>{20.0F, -20.0F, -5.0F});
    optimizer.step();
    CHECK(w.value[0] == 0.75);
    CHECK(w.value[1] == 1.25);
    CHECK(w.value[2] == doctest::Approx(1.125));
    CHECK(optimizer.counts().clipped == 2);
}

/// A function of the user's own, and the built-in one of the same steps.
Var own_sigmoid(Var x) {
    return pointwise(
        "own_sigmoid", x, [](const auto& s, Real v) { return s.sigmoid(v); },
        [](const auto& s, Real, Real y, Real dy) { return s.mul(dy, s.mul(y, s.sub(1, y))); });
}

/// The same of an operation that is built for spans: x (1 + erf(x / sqrt 2)) / 2 element by element.
Var own_gelu(Var x) {
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

TEST_CASE("the operations of attention are named after the layer and their part of it") {
    const Engine engine("fp32", "soft:ieee");
    Model model(engine.recipe, 1);
    const MultiHeadAttention attention(model, "block0/attention", 4, 2);
    std::vector<std::string> labels;
    Run run;
    run.observers.tap = [&](const TapEvent& event) {
        if (event.role == TensorRole::activation) labels.emplace_back(event.name);
    };
    Tape tape(engine, run);
    (void)attention(tape.leaf(Tensor({1, 3, 4})), true);
    for (const char* name :
         {"block0/attention/queries/scale", "block0/attention/scores/matmul", "block0/attention/scores/causal_mask",
          "block0/attention/probabilities/softmax", "block0/attention/mix/matmul", "block0/attention.in_proj/linear"}) {
        CAPTURE(name);
        CHECK(std::find(labels.begin(), labels.end(), name) != labels.end());
    }
    for (const std::string& label : labels) {
        CAPTURE(label);
        CHECK(label.starts_with("block0/attention"));
    }
}

TEST_CASE("attention leaves fp16 where the product is stored before it is scaled, and only there") {
    const auto largest_score = [](AttentionOptions options) {
        const Engine engine("mixed_fp16", "soft:ieee");
        Model model(engine.recipe, 1);
        const MultiHeadAttention attention(model, "attention", 16, 1, options);
        for (Parameter& p : model.parameters()) {
            for (float& x : p.value.values()) x = p.name == "attention.in_proj.bias" ? 80.0F : 0.0F;
        }
        if (options.normalised) {  // a row of equal numbers is normalised to the shift
            for (const auto& norm : attention.query_key_norms) {
                for (float& x : norm.affine.bias->value.values()) x = 1.0F;
            }
        }
        float largest = 0;
        Run run;
        run.observers.tap = [&](const TapEvent& event) {
            if (event.name == "attention/scores/matmul") largest = *std::ranges::max_element(event.values);
        };
        Tape tape(engine, run);
        (void)attention(tape.input(Tensor({1, 2, 16})), false);
        return largest;
    };
    CHECK(largest_score({}) == 25600);  // 16 * (80 / 4) * 80
    CHECK(std::isinf(largest_score({.scale_scores = true})));
    CHECK(largest_score({.scale_scores = true, .normalised = true}) == 16);
}

}  // namespace
