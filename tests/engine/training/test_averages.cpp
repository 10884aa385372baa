// Averages of weights, the format of batch norm's statistics, reductions of losses, initialisations, and evaluation in
// fp32: each against numbers worked out apart.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/tensor/random.hpp"
#include "engine/training/checkpoint.hpp"
#include "softfloat/round.hpp"
#include "tests/engine/training/resume_net.hpp"

namespace {

using namespace ulp;
using ulp::test::ResumeRun;

constexpr UpdateRounding stochastic = UpdateRounding::stochastic;

TEST_CASE("averages follow the weights by lerp in fp32, rounded to their format after each update") {
    for (const AverageOptions& options :
         {AverageOptions{.decay = 0.75}, AverageOptions{.decay = 0.9, .format = formats::bf16},
          AverageOptions{.decay = 0.9, .format = formats::fp16, .rounding = stochastic, .seed = 3}}) {
        ResumeRun run;
        run.trainer.average(options);
        std::map<std::string, Tensor> expected;
        for (const Parameter& p : run.trainer.model().parameters()) {
            expected[p.name] = p.updated();
            expected[p.name].round_to_format(options.format);
        }
        for (int i = 0; i < 6; ++i) {
            if (run.step().skipped) continue;  // a skipped step moves no weight and no average
            for (const Parameter& p : run.trainer.model().parameters()) {
                Tensor& average = expected[p.name];
                const Random random(options.seed, hash_of("average/" + p.name) +
                                                      static_cast<std::uint64_t>(run.trainer.optimizer().steps()));
                for (Index j = 0; j < average.size(); ++j) {
                    const float take = static_cast<float>(1 - options.decay);
                    const float moved = average[j] + take * (p.updated()[j] - average[j]);
                    Context how;
                    if (options.rounding == stochastic) {
                        how = {.rounding = Rounding::stochastic,
                               .random_bits = 24,
                               .random = random.at(static_cast<std::uint64_t>(j)) >> 40};
                    }
                    average[j] = round_to(options.format, moved, how);
                }
            }
        }
        int differ = 0;
        for (const auto& [name, average] : run.trainer.averages()->tensors()) {
            CHECK(average.format() == options.format);
            for (Index j = 0; j < average.size(); ++j) differ += average[j] != expected[name][j] ? 1 : 0;
        }
        CHECK(differ == 0);
    }
}

TEST_CASE("an average with a decay of 0.9999 in bf16 stands still, in fp32 it moves, and stochastically on average") {
    const auto after = [](const AverageOptions& options) {
        Model model(recipe_by_name("fp32"), 1);
        Parameter& w = model.add("w", {1000}, Init::constant(1));
        Averages averages(model, options);
        for (float& x : w.value.values()) x = 1.5F;
        for (int step = 1; step <= 100; ++step) averages.update(model, step);
        double mean = 0;
        for (const float x : averages.tensors().at("w").values()) mean += x;
        return mean / 1000;
    };
    const double moved = 1.5 - 0.5 * std::pow(0.9999, 100);
    CHECK(after({.decay = 0.9999}) == doctest::Approx(moved).epsilon(1e-5));
    CHECK(after({.decay = 0.9999, .format = formats::bf16}) == 1.0);
    // One number moves by 2^-7 with probability 0.0064 a step: the deviation of a mean of 1000 after 100 steps is
    // 2^-7 sqrt(0.64 / 1000) = 0.0002; four of them.
    CHECK(std::abs(after({.decay = 0.9999, .format = formats::bf16, .rounding = stochastic}) - moved) < 0.0008);
}

TEST_CASE("averages that make no sense are refused") {
    const Model model(recipe_by_name("fp32"), 1);
    CHECK_THROWS_WITH_AS(Averages(model, {.decay = 1.5}), doctest::Contains("decay of averages is 1.5"),
                         std::invalid_argument);
    CHECK_THROWS_AS(Averages(model, {.decay = std::nan("")}), std::invalid_argument);
    CHECK_THROWS_AS(Averages(model, {.rounding = UpdateRounding::kahan}), std::invalid_argument);
    CHECK_THROWS_WITH_AS(Averages(model, {.rounding = stochastic}), doctest::Contains("fp32 are not rounded"),
                         std::invalid_argument);
    const ResumeRun run;
    CHECK_THROWS_AS((void)run.trainer.evaluation({.weights = EvaluatedWeights::averages}), std::logic_error);
}

double loss_of(ResumeRun& run, const EvaluationOptions& options) {
    Evaluation evaluation = run.trainer.evaluation(options);
    Tape tape(evaluation);
    const Batch batch = batch_of(run.data, {0, 1, 2, 3, 4, 5, 6, 7});
    return cross_entropy(run.logits(images_on(tape, batch.images)), batch.labels).value()[0];
}

TEST_CASE("averages and masters are evaluated instead of the weights, in the recipe or in fp32") {
    ResumeRun run;
    run.trainer.average({.decay = 0.5});
    for (int i = 0; i < 10; ++i) run.step();
    const std::string before = run.digest();
    const double own = loss_of(run, {});
    const double in_fp32 = loss_of(run, {.fp32 = true});
    const double masters = loss_of(run, {.weights = EvaluatedWeights::masters});
    const double masters_fp32 = loss_of(run, {.weights = EvaluatedWeights::masters, .fp32 = true});
    const double average = loss_of(run, {.weights = EvaluatedWeights::averages});
    const double average_fp32 = loss_of(run, {.weights = EvaluatedWeights::averages, .fp32 = true});
    CHECK(run.digest() == before);
    CHECK(own == loss_of(run, {}));
    CHECK(masters == own);  // rounded into the recipe's weights, masters are the weights
    CHECK(in_fp32 != own);
    CHECK(masters_fp32 != in_fp32);
    CHECK(average != own);
    CHECK(average_fp32 != average);
    // A run in which the averages are the weights.
    for (Parameter& p : run.trainer.model().parameters()) p.assign(run.trainer.averages()->tensors().at(p.name));
    CHECK(loss_of(run, {}) == average);
    CHECK(loss_of(run, {.weights = EvaluatedWeights::masters, .fp32 = true}) == average_fp32);
}

TEST_CASE("a pure fp16 loss of many terms sticks, and is right in an evaluation in fp32") {
    Trainer trainer(Engine("fp16", "soft:ieee"), 1);
    const auto loss = [&](const EvaluationOptions& options) {
        Evaluation evaluation = trainer.evaluation(options);
        Tape tape(evaluation);
        return cross_entropy(tape.input(Tensor({8192, 2})), std::vector<int>(8192, 1)).value()[0];
    };
    CHECK(loss({}) < 0.3F);  // the sum of terms of log 2 stops near 2048
    CHECK(loss({.fp32 = true}) == doctest::Approx(std::log(2.0)).epsilon(1e-3));
}

TEST_CASE("averages and statistics in a format of their own go on from a checkpoint bit for bit") {
    const auto file = std::filesystem::temp_directory_path() / ("ulplab_averages_" + std::to_string(::getpid()));
    Recipe recipe = test::resume_recipe();
    recipe.statistics = formats::bf16;
    const AverageOptions options{.decay = 0.9, .format = formats::bf16, .rounding = stochastic};
    const auto started = [&] {
        auto run = std::make_unique<ResumeRun>(7, 12, OptimizerKind::adam, recipe);
        run->trainer.average(options);
        return run;
    };
    const auto averages_of = [](const ResumeRun& run) {
        Sha256 sha;
        for (const auto& [name, tensor] : run.trainer.averages()->tensors()) sha.add(tensor.values());
        return sha.hex();
    };
    const auto straight = started();
    for (int i = 0; i < 10; ++i) straight->step();
    const auto before = started();
    for (int i = 0; i < 6; ++i) before->step();
    save_checkpoint(file, before->trainer);
    const auto after = started();
    load_checkpoint(file, after->trainer);
    CHECK(averages_of(*after) == averages_of(*before));
    for (int i = 6; i < 10; ++i) after->step();
    CHECK(after->digest() == straight->digest());
    CHECK(averages_of(*after) == averages_of(*straight));
    ResumeRun without(7, 12, OptimizerKind::adam, recipe);
    CHECK_THROWS_WITH(load_checkpoint(file, without.trainer), doctest::Contains("average"));
    std::filesystem::remove(file);
}

TEST_CASE("running statistics in bf16 stand still at a momentum of 0.001, in fp32 they move") {
    // The batch's unbiased variance is 3: 0.001 of it is less than half of bf16's spacing above 1, which is 2^-7, and
    // 0.999 is 1 in bf16.
    const auto variance_after = [](std::optional<FloatFormat> format) {
        Recipe recipe = recipe_by_name("bf16");
        recipe.statistics = format;
        const Engine engine(recipe, make_backend("soft:ieee"));
        Model model(engine.recipe, 1);
        BatchStatistics& running = model.add_statistics("bn", 1);
        CHECK(running.variance.format() == format.value_or(formats::fp32));
        for (int i = 0; i < 20; ++i) {
            Tape tape(engine);
            const Var x = tape.constant(Tensor({4, 1}, std::vector<float>{-1.5F, 1.5F, -1.5F, 1.5F}));
            const Var w = tape.constant(Tensor({1}, std::vector<float>{1}));
            (void)batch_norm(x, w, tape.constant(Tensor({1})), running, {.momentum = 0.001});
        }
        return running.variance[0];
    };
    CHECK(variance_after(formats::bf16) == 1.0F);
    CHECK(variance_after(std::nullopt) > 1.03F);
    CHECK(variance_after(std::nullopt) == variance_after(formats::fp32));
}

TEST_CASE("initialisations have torch's bounds and deviations, and zeros for biases") {
    const auto weights_of = [](const char* name) {
        auto model = std::make_unique<Model>(recipe_by_name("fp32"), 1);
        model->initialise_by(Initialisation(name));
        const Conv2d conv(*model, "conv", 40, 60, 5);
        const LayerNorm norm(*model, "norm", 10);
        return model;
    };
    struct Row {
        const char* name;
        double bound, deviation;  // a bound of 0: none
    };
    const double fan_in = 40 * 25;
    const double fan_out = 60 * 25;
    for (const Row& row : {Row{"kaiming_uniform", std::sqrt(6 / fan_in), std::sqrt(2 / fan_in)},
                           {"kaiming_normal", 0, std::sqrt(2 / fan_in)},
                           {"xavier_uniform", std::sqrt(6 / (fan_in + fan_out)), std::sqrt(2 / (fan_in + fan_out))},
                           {"xavier_normal", 0, std::sqrt(2 / (fan_in + fan_out))},
                           {"normal:0.02", 0, 0.02},
                           {"default", std::sqrt(1 / fan_in), std::sqrt(1 / fan_in / 3)}}) {
        CAPTURE(row.name);
        const auto model = weights_of(row.name);
        double squares = 0;
        double most = 0;
        const Tensor& w = (*model)["conv.weight"].value;
        for (const float x : w.values()) {
            squares += static_cast<double>(x) * x;
            most = std::max(most, std::abs(static_cast<double>(x)));
        }
        // 60,000 numbers: the deviation is known to 0.3 %, the largest of a uniform one to 0.1 %.
        CHECK(std::sqrt(squares / static_cast<double>(w.size())) == doctest::Approx(row.deviation).epsilon(0.015));
        if (row.bound != 0) {
            CHECK(most <= row.bound * (1 + 1e-7));
            CHECK(most > row.bound * 0.999);
        } else {
            CHECK(most > 3 * row.deviation);
        }
        const bool as_asked = std::string(row.name) == "default";
        CHECK(((*model)["conv.bias"].value[0] == 0) == !as_asked);
        CHECK((*model)["norm.weight"].value[0] == 1.0F);
    }
    CHECK((*weights_of("zeros"))["conv.weight"].value[7] == 0.0F);
    for (const char* name : {"kaiming", "normal", "normal:x", "normal:-1", "zeros:1", "xavier_normal:2"}) {
        CHECK_THROWS_WITH_AS((void)Initialisation(name), doctest::Contains("there are default, kaiming_uniform"),
                             std::invalid_argument);
    }
}

}  // namespace
