// Optimizers beyond the golden results: Sophia, narrow weights without masters, accumulation, schedules, and scalers
// over several optimizers and losses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "engine/recipes/levels.hpp"
#include "engine/tape/ops.hpp"
#include "engine/training/grad_scaler.hpp"
#include "engine/training/optimizer.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

Tensor filled(Index n, float value, const FloatFormat& format = formats::fp32) {
    return {{n}, std::vector<float>(static_cast<std::size_t>(n), value), format};
}

TEST_CASE("Sophia's steps are those of its closed form, and clipped updates are counted") {
    BasicModel<double> model(recipe_by_name("fp64"), 1);
    BasicParameter<double>& w = model.add("w", {2}, Init::constant(1));
    const OptimizerOptions options{.kind = OptimizerKind::sophia,
                                   .learning_rate = 0.1,
                                   .beta1 = 0.965,
                                   .beta2 = 0.99,
                                   .eps = 1e-15,
                                   .rho = 0.04,
                                   .weight_decay = 0.1};
    BasicOptimizer<double> optimizer(model, options);
    double m[2] = {0, 0};
    double h[2] = {0, 0};
    double x[2] = {1, 1};
    const double g[2] = {0.5, -0.001};
    const double curvature[2] = {0.25, 3.0};
    int clipped = 0;
    for (int t = 0; t < 20; ++t) {
        if (t % 5 == 0) {
            w.gradient = BasicTensor<double>({2}, std::vector<double>{curvature[0], curvature[1]});
            optimizer.update_curvature(8);
            for (int i = 0; i < 2; ++i) h[i] = 0.99 * h[i] + 0.01 * 8 * curvature[i] * curvature[i];
        }
        w.gradient = BasicTensor<double>({2}, std::vector<double>{g[0], g[1]});
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
    BasicOptimizer<double> sgd(model, {});
    CHECK_THROWS_AS(sgd.update_curvature(1), std::logic_error);
}

/// fp16 weights, updates in fp32, no masters.
Recipe narrow_weights() {
    Recipe recipe = recipe_by_name("fp16");
    recipe.update = formats::fp32;
    return recipe;
}

/// A weight of 1 after 10,000 updates of 1e-4 (with the learning rate 1, the gradient -1e-4).
float after_small_updates(UpdateRounding rounding, std::uint64_t seed = 1) {
    Model model(narrow_weights(), 1);
    Parameter& w = model.add("w", {1}, Init::constant(1));
    Optimizer optimizer(model, {.learning_rate = 1, .rounding = rounding, .seed = seed});
    for (int i = 0; i < 10000; ++i) {
        w.gradient = filled(1, -1e-4F);
        optimizer.step();
        CHECK(w.value[0] == round_to(formats::fp16, w.value[0]));
    }
    return w.value[0];
}

TEST_CASE("10,000 updates of 1e-4 onto 1 in fp16: lost, compensated, or right on average") {
    CHECK(after_small_updates(UpdateRounding::nearest) == 1.0F);
    // The gradient on fp16's grid is 1e-4 (1 + 2^-14.2): the sum is 2 up to fp16's spacing.
    CHECK(std::abs(after_small_updates(UpdateRounding::kahan) - 2.0F) <= 0x1p-9F);
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) mean += after_small_updates(UpdateRounding::stochastic, seed) / 8.0;
    // Each update moves by 2^-10 with probability 0.1: one run's deviation is 2^-10 * 30, the mean's a third of it.
    CHECK(std::abs(mean - 2.0) < 4 * 0x1p-10 * 30 / std::sqrt(8.0));
    CHECK(after_small_updates(UpdateRounding::stochastic, 3) == after_small_updates(UpdateRounding::stochastic, 3));
}

/// At O3 with keep_batchnorm_fp32: an fp16 weight, and a norm's fp32 scale that fp16 does not hold.
struct WeightAndNorm {
    Model model{Level("O3", {{"keep_batchnorm_fp32", "true"}}).recipe(), 1};
    Parameter* weight = &model.add("w", {1}, Init::constant(1));
    Parameter* scale = &model.add("bn.weight", {1}, Init::constant(1 + 0x1p-20), ParameterKind::batch_norm);
};

TEST_CASE("each parameter is updated in its own format: a norm that O3 keeps in fp32 in fp32, the rest in fp16") {
    constexpr double rate = 0x1p-2;
    for (const OptimizerOptions& options :
         {OptimizerOptions{.learning_rate = rate, .momentum = 0.9},
          OptimizerOptions{.kind = OptimizerKind::adam, .learning_rate = rate, .eps = 1e-4}}) {
        WeightAndNorm half;
        Model single(recipe_by_name("fp32"), 1);
        Parameter& alone = single.add("bn.weight", {1}, Init::constant(1 + 0x1p-20));
        Optimizer optimizer(half.model, options);
        Optimizer expected(single, options);
        for (int step = 0; step < 3; ++step) {
            half.weight->gradient = filled(1, 0x1p-12F, formats::fp16);
            half.scale->gradient = filled(1, 0x1p-12F + 0x1p-30F);
            alone.gradient = half.scale->gradient;
            optimizer.step();
            expected.step();
            CHECK(half.weight->value[0] == round_to(formats::fp16, half.weight->value[0]));
            CHECK(half.scale->value[0] == alone.value[0]);
            CHECK(half.scale->value[0] != round_to(formats::fp16, half.scale->value[0]));
        }
        CHECK(half.scale->value.format() == formats::fp32);
        CHECK(half.scale->master.empty());
        for (const auto& [name, tensor] : optimizer.state().at("w")) CHECK(tensor.format() == formats::fp16);
        for (const auto& [name, tensor] : optimizer.state().at("bn.weight")) CHECK(tensor.format() == formats::fp32);
        const Index tensors = static_cast<Index>(optimizer.state().at("w").size());
        CHECK(optimizer.state_bytes().stored == tensors * (2 + 4));
    }
}

TEST_CASE("clipping by the norm sums fp32 gradients in fp32, and leaves each gradient in its own format") {
    WeightAndNorm both;
    Optimizer optimizer(both.model, {});
    both.weight->gradient = filled(1, 3, formats::fp16);
    both.scale->gradient = filled(1, 300);  // fp16 would square it to infinity
    optimizer.collect_gradients();
    CHECK(optimizer.clip_by_norm(1) == doctest::Approx(std::sqrt(90009.0)).epsilon(1e-6));
    const float factor = 1 / (std::sqrt(90009.0F) + 1e-6F);
    CHECK(optimizer.gradients()[0][0] == round_to(formats::fp16, 3 * round_to(formats::fp16, factor)));
    CHECK(optimizer.gradients()[1][0] == 300 * factor);
}

TEST_CASE("clipping before unscaling is refused by name") {
    Model model(recipe_by_name("mixed_fp16"), 1);
    model.add("w", {3}, Init::constant(1)).gradient = filled(3, 2.0F, formats::fp16);
    Optimizer optimizer(model, {});
    CHECK_THROWS_WITH_AS((void)optimizer.clip_by_norm(1), doctest::Contains("clip_by_norm() before unscale()"),
                         std::logic_error);
    CHECK_THROWS_WITH_AS(optimizer.clip_by_value(1), doctest::Contains("clip_by_value() before unscale()"),
                         std::logic_error);
    optimizer.collect_gradients();
    optimizer.clip_by_value(1.5);
    CHECK(optimizer.gradients()[0][2] == 1.5F);
    CHECK(optimizer.clip_by_norm(100) == doctest::Approx(1.5 * std::sqrt(3.0)));
    CHECK(optimizer.gradients()[0][0] == 1.5F);
}

TEST_CASE("options that no optimizer has are refused by name") {
    Model model(recipe_by_name("fp32"), 1);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto refused = [&](const OptimizerOptions& options, const char* name) {
        CHECK_THROWS_WITH_AS(Optimizer(model, options), doctest::Contains(name), std::invalid_argument);
    };
    for (const double x : {nan, infinity, -1.0}) {
        refused({.learning_rate = x}, "learning_rate");
        refused({.momentum = x}, "momentum");
        refused({.beta1 = x}, "beta1");
        refused({.beta2 = x}, "beta2");
        refused({.alpha = x}, "alpha");
        refused({.eps = x}, "eps");
        refused({.rho = x}, "rho");
        refused({.weight_decay = x}, "weight_decay");
    }
    refused({.beta1 = 1.5}, "beta1");
    Optimizer optimizer(model, {.learning_rate = 0.5});
    for (const double x : {nan, infinity, -1.0}) {
        CHECK_THROWS_WITH_AS(optimizer.set_learning_rate(x), doctest::Contains("learning_rate"), std::invalid_argument);
        CHECK_THROWS_WITH_AS(optimizer.set_eps(x), doctest::Contains("eps"), std::invalid_argument);
    }
    CHECK(optimizer.options().learning_rate == 0.5);
}

/// A model with one weight whose gradient is set by hand.
struct OneWeight {
    Engine engine;
    Model model;
    Parameter* weight;
    Optimizer optimizer;

    OneWeight()
        : engine("mixed_fp16", "soft:ieee"),
          model(engine.recipe, 1),
          weight(&model.add("w", {1}, Init::constant(1))),
          optimizer(model, {.learning_rate = 0.5}) {}
};

void start(GradScaler& scaler, const Engine& engine) {
    Tape tape(engine);
    (void)scaler.scale(tape.leaf(Tensor(Shape{})));
}

TEST_CASE("two optimizers on one scaler: the clean one steps, the other skips, and the shared scale halves once") {
    OneWeight clean;
    OneWeight broken;
    GradScaler scaler(loss_scale_dialect("pytorch"));
    start(scaler, clean.engine);
    clean.weight->gradient = filled(1, 0x1p10F, formats::fp16);
    broken.weight->gradient = filled(1, std::numeric_limits<float>::infinity(), formats::fp16);
    CHECK(scaler.step(clean.optimizer));
    CHECK(!scaler.step(broken.optimizer));
    scaler.update();
    CHECK(scaler.value() == 0x1p15);
    CHECK(clean.weight->master[0] == 1.0F - 0.5F * 0x1p-6F);
    CHECK(broken.weight->master[0] == 1.0F);
}

TEST_CASE("two losses with a scaler each keep scales of their own") {
    OneWeight generator;
    OneWeight discriminator;
    GradScaler first(loss_scale_dialect("apex"));
    GradScaler second(loss_scale_dialect("apex"));
    start(first, generator.engine);
    start(second, discriminator.engine);
    generator.weight->gradient = filled(1, 1.0F, formats::fp16);
    discriminator.weight->gradient = filled(1, std::numeric_limits<float>::quiet_NaN(), formats::fp16);
    first.step(generator.optimizer);
    second.step(discriminator.optimizer);
    first.update();
    second.update();
    CHECK(first.value() == 0x1p16);
    CHECK(second.value() == 0x1p15);
}

TEST_CASE("an element that is infinite before the multiplication counts, even where the product would be finite") {
    OneWeight one;
    GradScaler scaler(loss_scale_dialect("pytorch"));
    start(scaler, one.engine);
    one.weight->gradient = filled(1, 65504.0F, formats::fp16);
    scaler.unscale(one.optimizer);
    CHECK(one.optimizer.gradients()[0][0] == 65504.0F / 65536.0F);
    CHECK(scaler.step(one.optimizer));
}

TEST_CASE("a constant scale divides but never skips") {
    OneWeight one;
    GradScaler scaler(constant_loss_scale(128));
    start(scaler, one.engine);
    one.weight->gradient = filled(1, std::numeric_limits<float>::infinity(), formats::fp16);
    CHECK(scaler.step(one.optimizer));
    CHECK(std::isinf(one.weight->master[0]));
}

TEST_CASE("micro-batches add up to the whole batch, exactly where the sums are exact") {
    const auto run = [](bool split) {
        BasicTrainer<double> trainer(Engine("fp64", "soft:ieee"), 1);
        BasicParameter<double>& w = trainer.model().add("w", {1, 2}, Init::constant(0.5));
        BasicParameter<double>& b = trainer.model().add("b", {1}, Init::constant(0));
        trainer.optimize({.learning_rate = 0.25});
        const auto loss_of = [&](std::vector<double> x, std::vector<double> t) {
            return [&w, &b, x, t](BasicTape<double>& tape) {
                const auto rows = static_cast<Index>(t.size());
                const BasicVar<double> in = tape.constant(BasicTensor<double>({rows, 2}, x));
                const BasicVar<double> weight = tape.parameter(w);
                const BasicVar<double> y = linear(in, weight, tape.parameter(b));
                return mse(y, BasicTensor<double>({rows, 1}, t));
            };
        };
        const StepResult result = split ? trainer.step({loss_of({1, 2, 3, 4}, {1, 2}), loss_of({5, 6, 7, 8}, {3, 4})})
                                        : trainer.step(loss_of({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4}));
        return std::pair(result.loss, std::vector<double>{w.value[0], w.value[1], b.value[0]});
    };
    CHECK(run(true) == run(false));
}

TEST_CASE("schedules rise, fall and stay within bounds") {
    for (std::int64_t step = 0; step <= 100; ++step) {
        const double expected = (1 + std::cos(3.14159265358979323846 * static_cast<double>(step) / 100)) / 2;
        CHECK(std::abs(cosine_decay_factor(step, 100) - expected) < 1e-15);
    }
    CHECK(linear_decay_factor(25, 100) == 0.75);
    CHECK(linear_decay_factor(100, 100) == 0);
    CHECK(warmup_factor(9, 10) == 1);
    CHECK(step_decay_factor(9, 10, 0.1) == 1);
    CHECK(step_decay_factor(10, 10, 0.1) == 0.1);
}

}  // namespace
