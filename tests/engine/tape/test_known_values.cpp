// Results worked out by hand: NaN through pools and relu, the statistics of batch norm, ctc's reductions, Nesterov's
// momentum, Sophia's clip on both sides, and the names of attention's operations.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/layers/attention.hpp"
#include "engine/tape/ops.hpp"
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

/// Log-probabilities (2 steps, 2 sequences, 2 classes): class 1 has 3/4, then 1/4 in the first sequence, and 1/2 in the
/// second, which has one step.
BasicTensor<double> two_sequences() {
    std::vector<double> numbers = {0.25, 0.75, 0.5, 0.5, 0.75, 0.25, 0.5, 0.5};
    for (double& x : numbers) x = std::log(x);
    return {{2, 2, 2}, numbers};
}

TEST_CASE("ctc gives the sum of -log P, or the mean of -log P over the labels") {
    const Engine engine("fp64", "soft:ieee");
    // "1" in two steps: 1 1, blank 1 or 1 blank: 3/16 + 1/16 + 9/16. In one step: 1/2.
    const std::vector<CtcTarget> targets = {{{1}, 2}, {{1}, 1}};
    const double sum = -std::log(13.0 / 16) - std::log(0.5);
    for (const auto& [reduction, share] : {std::pair{Reduction::sum, 1.0}, {Reduction::mean, 0.5}}) {
        BasicTape<double> tape(engine);
        const BasicVar<double> x = tape.leaf(two_sequences());
        const BasicVar<double> loss = ctc(x, targets, 0, reduction);
        CHECK(loss.value()[0] == doctest::Approx(share * sum).epsilon(1e-14));
        tape.backward(loss);
        CHECK(x.gradient()[3] == doctest::Approx(-share).epsilon(1e-14));  // all ways of the second: class 1
        CHECK(x.gradient()[1] == doctest::Approx(-share * 12.0 / 13).epsilon(1e-14));  // 3/16 + 9/16 of 13/16
        CHECK(x.gradient()[7] == 0);                                                   // padding
    }
    // Two labels that are the same need a blank between them: 1 0 1 alone.
    BasicTape<double> tape(engine);
    const BasicVar<double> x = tape.leaf({{3, 1, 2}, std::vector<double>(6, std::log(0.5))});
    CHECK(ctc(x, {{{1, 1}, 3}}, 0, Reduction::sum).value()[0] == doctest::Approx(3 * std::log(2.0)).epsilon(1e-14));
    CHECK(ctc(x, {{{1, 1}, 3}}).value()[0] == doctest::Approx(1.5 * std::log(2.0)).epsilon(1e-14));
}

/// The weight after each of three steps with the gradients 1, 2, 4 at rate 0.5, from 1.
std::vector<double> sgd_path(const OptimizerOptions& options) {
    BasicModel<double> model(recipe_by_name("fp64"), 1);
    BasicParameter<double>& w = model.add("w", {1}, Init::constant(1));
    BasicOptimizer<double> optimizer(model, options);
    std::vector<double> path;
    for (const double g : {1.0, 2.0, 4.0}) {
        w.gradient = BasicTensor<double>({1}, std::vector<double>{g});
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
    BasicModel<double> model(recipe_by_name("fp64"), 1);
    BasicParameter<double>& w = model.add("w", {3}, Init::constant(1));
    BasicOptimizer<double> optimizer(model, {.kind = OptimizerKind::sophia, .learning_rate = 0.25, .eps = 1.0});
    // Without a curvature the direction is m / eps = (1 - beta1) g: 2, -2 and -0.5.
    w.gradient = BasicTensor<double>({3}, std::vector<double>{20.0, -20.0, -5.0});
    optimizer.step();
    CHECK(w.value[0] == 0.75);
    CHECK(w.value[1] == 1.25);
    CHECK(w.value[2] == doctest::Approx(1.125));
    CHECK(optimizer.counts().clipped == 2);
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
