// What fp64 mode shows and fp32's rounding would hide: ctc's reductions, losses summed, Sophia's steps, micro-batches.
// And the mode itself: its types, its steps on arrays.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/tape/ops.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "engine/training/trainer.hpp"

namespace {

using namespace ulp;

static_assert(std::is_same_v<Real, double> && std::is_same_v<Tensor, ulp::fp64_mode::Tensor>);

TEST_CASE("functions of steps take arrays of doubles with the bits of one operand after the other") {
    Random random(6, "arrays");
    std::vector<double> x(1000);
    for (double& v : x) v = 8 * random.normal();
    const NativeSteps s;
    int wrong = 0;
#define ULPLAB_FUNCTION(name, Function)                                                                          \
    {                                                                                                            \
        auto out = x;                                                                                            \
        s.name(std::span(std::as_const(out)), std::span(out));                                                   \
        for (std::size_t i = 0; i < x.size(); ++i) {                                                             \
            wrong += std::bit_cast<std::uint64_t>(s.name(x[i])) == std::bit_cast<std::uint64_t>(out[i]) ? 0 : 1; \
        }                                                                                                        \
    }
    ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION
    CHECK(wrong == 0);
}

/// Log-probabilities (2 steps, 2 sequences, 2 classes): class 1 has 3/4, then 1/4 in the first sequence, and 1/2 in the
/// second, which has one step.
Tensor two_sequences() {
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
        Tape tape(engine);
        const Var x = tape.leaf(two_sequences());
        const Var loss = ctc(x, targets, 0, reduction);
        CHECK(loss.value()[0] == doctest::Approx(share * sum).epsilon(1e-14));
        tape.backward(loss);
        CHECK(x.gradient()[3] == doctest::Approx(-share).epsilon(1e-14));  // all ways of the second: class 1
        CHECK(x.gradient()[1] == doctest::Approx(-share * 12.0 / 13).epsilon(1e-14));  // 3/16 + 9/16 of 13/16
        CHECK(x.gradient()[7] == 0);                                                   // padding
    }
    // Two labels that are the same need a blank between them: 1 0 1 alone.
    Tape tape(engine);
    const Var x = tape.leaf({{3, 1, 2}, std::vector<double>(6, std::log(0.5))});
    CHECK(ctc(x, {{{1, 1}, 3}}, 0, Reduction::sum).value()[0] == doctest::Approx(3 * std::log(2.0)).epsilon(1e-14));
    CHECK(ctc(x, {{{1, 1}, 3}}).value()[0] == doctest::Approx(1.5 * std::log(2.0)).epsilon(1e-14));
}

TEST_CASE("Sophia's steps are those of its closed form, and clipped updates are counted") {
    Model model(recipe_by_name("fp64"), 1);
    Parameter& w = model.add("w", {2}, Init::constant(1));
    const OptimizerOptions options{.kind = OptimizerKind::sophia,
                                   .learning_rate = 0.1,
                                   .beta1 = 0.965,
                                   .beta2 = 0.99,
                                   .eps = 1e-15,
                                   .rho = 0.04,
                                   .weight_decay = 0.1};
    Optimizer optimizer(model, options);
    double m[2] = {0, 0};
    double h[2] = {0, 0};
    double x[2] = {1, 1};
    const double g[2] = {0.5, -0.001};
    const double curvature[2] = {0.25, 3.0};
    int clipped = 0;
    for (int t = 0; t < 20; ++t) {
        if (t % 5 == 0) {
            w.gradient = Tensor({2}, std::vector<double>{curvature[0], curvature[1]});
            optimizer.update_curvature(8);
            for (int i = 0; i < 2; ++i) h[i] = 0.99 * h[i] + 0.01 * 8 * curvature[i] * curvature[i];
        }
        w.gradient = Tensor({2}, std::vector<double>{g[0], g[1]});
        optimizer.step();
        clipped = 0;
        for (int i = 0; i < 2; ++i) {
            m[i] = 0.965 * m[i] + 0.035 * g[i];
            const double ratio = m[i] / std::max(0.04 * h[i], 1e-15);
            clipped += std::abs(ratio) > 1 ? 1 : 0;
            x[i] -= 0.1 * (std::clamp(ratio, -1.0, 1.0) + 0.1 * x[i]);
            CHECK(std::abs(w.value[i] - x[i]) < 1e-14);
        }
        CHECK(optimizer.counts().clipped == clipped);
    }
    CHECK(clipped == 1);
    Optimizer sgd(model, {});
    CHECK_THROWS_AS(sgd.update_curvature(1), std::logic_error);
}

TEST_CASE("micro-batches add up to the whole batch, exactly where the sums are exact") {
    const auto run = [](bool split) {
        Trainer trainer(Engine("fp64", "soft:ieee"), 1);
        Parameter& w = trainer.model().add("w", {1, 2}, Init::constant(0.5));
        Parameter& b = trainer.model().add("b", {1}, Init::constant(0));
        trainer.optimize({.learning_rate = 0.25});
        const auto loss_of = [&](std::vector<double> x, std::vector<double> t) {
            return [&w, &b, x, t](Tape& tape) {
                const auto rows = static_cast<Index>(t.size());
                const Var in = tape.constant(Tensor({rows, 2}, x));
                const Var weight = tape.parameter(w);
                const Var y = linear(in, weight, tape.parameter(b));
                return mse(y, Tensor({rows, 1}, t));
            };
        };
        const StepResult result = split ? trainer.step({loss_of({1, 2, 3, 4}, {1, 2}), loss_of({5, 6, 7, 8}, {3, 4})})
                                        : trainer.step(loss_of({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4}));
        return std::pair(result.loss, std::vector<double>{w.value[0], w.value[1], b.value[0]});
    };
    CHECK(run(true) == run(false));
}

TEST_CASE("a loss summed is its mean times the number of terms, with its gradients") {
    const Engine engine("fp64", "soft:ieee");
    const auto both = [&](const auto& loss, double terms) {
        Tensor x({2, 3});
        Random random(4);
        for (double& each : x.values()) each = random.normal();
        std::vector<double> seen[2];
        for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
            Tape tape(engine);
            const Var leaf = tape.leaf(x);
            const Var value = loss(leaf, reduction);
            tape.backward(value);
            std::vector<double>& out = seen[reduction == Reduction::sum ? 1 : 0];
            out.push_back(value.value()[0]);
            for (const double g : leaf.gradient().values()) out.push_back(g);
        }
        for (std::size_t i = 0; i < seen[0].size(); ++i) CHECK(seen[1][i] == doctest::Approx(seen[0][i] * terms));
    };
    const Tensor target({2, 3}, std::vector<double>{1, 0, 0, 1, 1, 0});
    both([](Var x, Reduction r) { return cross_entropy(x, {0, 2}, r); }, 2);
    both([&](Var x, Reduction r) { return mse(x, target, r); }, 6);
    both([&](Var x, Reduction r) { return bce_with_logits(x, target, r); }, 6);
    CHECK(reduction_by_name("sum") == Reduction::sum);
    CHECK_THROWS_WITH_AS((void)reduction_by_name("none"), doctest::Contains("there are mean, sum"),
                         std::invalid_argument);
}

}  // namespace
