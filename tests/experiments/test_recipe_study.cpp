// Several recipes on one net: the verdict in a sentence, where runs part, and the command.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/recipes/recipe.hpp"
#include "engine/training/run_identity.hpp"
#include "experiments/cli/search_parts.hpp"
#include "softfloat/errors.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;

/// A study whose runs ended with these losses: [recipe][seed], the reference first; curves are flat at them.
RecipeStudy ended_with(const std::vector<std::string>& recipes, const std::vector<std::vector<double>>& losses,
                       double margin = 0.02) {
    RecipeStudy study{margin, {}};
    for (std::size_t arm = 0; arm < recipes.size(); ++arm) {
        StudyArm& each = study.arms.emplace_back();
        each.arithmetic = arithmetic_of_text(recipes[arm], {});
        const double scale = recipes[arm].find('@') == std::string::npos ? 1 : 4096;
        for (const double loss : losses[arm]) {
            each.runs.push_back({.loss = loss, .losses = {2, loss, loss, loss}, .scale = scale});
        }
        for (const std::int64_t step : {1, 2, 4}) {
            each.runs.front().distances.push_back({step, {{"fc1.weight", 0.1 * double(arm)}, {"fc2.weight", 0.5}}});
        }
    }
    return study;
}
std::string sentence(const std::vector<std::string>& recipes, const std::vector<std::vector<double>>& losses) {
    return verdict_sentence(ended_with(recipes, losses));
}

constexpr double nan_loss = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("the verdict names the cheapest recipe whose loss stays within the margin") {
    const std::string within = "at most 2 % above fp32's (3 paired seeds, 95 %)";
    CHECK(sentence({"fp32", "fp8", "mixed_fp16"}, {{1, 1.1, 0.9}, {1.001, 1.101, 0.901}, {1, 1.1, 0.9}}) ==
          "fp8 suffices: it is the cheapest whose loss is " + within);
    CHECK(sentence({"fp32", "fp8", "mixed_fp16@2^12"}, {{1, 1.1, 0.9}, {2, 2.1, 1.9}, {1, 1.1, 0.9}}) ==
          "mixed_fp16 with 2^12 suffices: it is the cheapest whose loss is " + within + "; cheaper, but too high: fp8");
    CHECK(sentence({"fp32", "fp8"}, {{1, 1.1, 0.9}, {nan_loss, nan_loss, nan_loss}}) ==
          "nothing found: no loss is shown to be " + within + "; keep fp32; too high: fp8");
    CHECK(sentence({"fp32", "fp8"}, {{1, 1.1, 0.9}, {0.5, 0.6, 0.4}}).starts_with("fp8 suffices"));  // better is good
    CHECK(sentence({"fp32"}, {{1, nan_loss, 1}}).starts_with("nothing found: fp32 itself ends with a loss"));
}

TEST_CASE("an undecided recipe says how many more seeds would probably decide") {
    const RecipeStudy study = ended_with({"fp32", "bf16"}, {{1, 1, 1}, {1.004, 0.994, 1.014}});
    const ArmVerdict judged = verdict_of(study, study.arms[1]);
    CHECK(judged.outcome == Outcome::undecided);
    // The mean lies 0.016 inside the margin of 0.02, a difference's deviation is 0.01: t(0.975, n - 1) * 0.01 / sqrt(n)
    // is 0.0159 at n = 4, with t = 3.182.
    CHECK(judged.more_seeds == 1);
    CHECK(verdict_sentence(study).ends_with("; keep fp32; undecided: bf16 (1 more seed)"));
    CHECK(sentence({"fp32", "bf16"}, {{1}, {1}}).ends_with("; keep fp32; undecided: bf16 (more seeds)"));
}

TEST_CASE("a run leaves the band where its losses stay outside, and the farthest parameter there is named") {
    const RecipeStudy study = ended_with({"fp32", "fp8"}, {{1, 1.1}, {3, 3.1}});
    const ArmVerdict judged = verdict_of(study, study.arms[1]);
    CHECK(judged.leaves_band_at == 1);
    CHECK(judged.layer == "fc2.weight");
    const RecipeStudy inside = ended_with({"fp32", "fp8"}, {{1, 1.1}, {1.05, 1.06}});
    CHECK(verdict_of(inside, inside.arms[1]).leaves_band_at == -1);
    const std::string page = recipe_page(study, "a<b");
    CHECK(page.find("Recipes on the net a&lt;b") != std::string::npos);
    CHECK(page.find("<svg class=\"chart\"") != std::string::npos);
    CHECK(page.find("http:") == std::string::npos);
}

TEST_CASE("recipes are written with a loss scale behind @, and cost what their products take") {
    CHECK(arithmetic_of_text("mixed_fp16@2^12", {}).recipe.loss_scale.initial == 4096);
    for (const char* wrong : {"mixed_fp16@", "mixed_fp16@12", "mixed_fp16@2^", "mixed_fp16@2^x", "mixed_fp16@2^999"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(arithmetic_of_text(wrong, {}), UsageError);
    }
}

TEST_CASE("the reference against itself holds, equal arithmetics never part, and the cheaper comes first") {
    const test::TemporaryFolder folder;
    NetOptions training;
    training.steps = 6;
    training.batch = 32;
    training.images = 128;
    Trials trials(training, description_of(net_by_name("mlp")), folder.path(), {});
    const auto arithmetic = [&](const char* recipe) { return arithmetic_of_text(recipe, training); };
    std::size_t told = 0;
    const RecipeStudy study = study_recipes(trials, arithmetic("fp32"),
                                            {arithmetic("fp32"), arithmetic("mixed_fp16@2^60"),
                                             arithmetic("mixed_fp16"), arithmetic("fp8"), arithmetic("nvfp4")},
                                            {.seeds = 2, .margin = 0.02, .all = true},
                                            [&](const RecipeStudy& now) { told = now.arms.size(); });
    CHECK(told == 6);
    std::vector<std::string> order;
    for (const StudyArm& arm : study.arms) order.push_back(arm.arithmetic.name);
    CHECK(order == std::vector<std::string>{"fp32", "nvfp4", "fp8", "mixed_fp16@2^60", "mixed_fp16", "fp32"});
    const StudyArm& same = study.arms.back();
    CHECK(verdict_of(study, same).outcome == Outcome::holds);
    CHECK(verdict_of(study, same).difference.mean == 0);
    for (const WeightDistances& each : same.runs.front().distances) {
        for (const auto& [name, distance] : each.parameters) CHECK(distance == 0);
    }
    CHECK(same.runs.front().distances.back().step == 6);
    const ArmVerdict scaled = verdict_of(study, study.arms[3]);
    CHECK(scaled.outcome == Outcome::refuted);  // the scaled loss is infinite in fp16's gradients
    CHECK(scaled.leaves_band_at >= 0);
}

TEST_CASE("the score is the loss in fp32 with the trained weights, and not finite where the training's own is not") {
    const test::TemporaryFolder folder;
    NetOptions training;
    training.steps = 10;
    training.batch = 32;
    training.images = 128;
    const NetDescription net = description_of(net_by_name("mlp"));
    Trials trials(training, net, folder.path(), {});
    const Arithmetic bf16 = arithmetic_of_text("bf16", training);
    const TrialResult result = trials.results({{bf16}}).front();
    Trainer trainer(Engine(bf16.recipe, make_backend(bf16.backend)), 1);
    const NetTask task = task_of(net, training, 1);
    const Net built(trainer.model(), net.layers, net.input.shape, net.outputs);
    OptimizerOptions optimizer = optimizer_of(training);
    optimizer.seed = 1;
    trainer.optimize(optimizer);
    for (const double loss : result.losses) CHECK(train_step(trainer, task, built).loss == loss);
    double sum = 0;
    for (std::int64_t step = 2; step < 10; ++step) {
        Evaluation evaluation = trainer.evaluation({.fp32 = true});
        Tape tape(evaluation);
        sum += static_cast<double>(task.loss(tape, built, step).value()[0]);
    }
    CHECK(result.loss == sum / 8);
    CHECK(trials.results({{bf16}}).front().losses == result.losses);  // from its file
}

TEST_CASE("no recipe is another one under another name") {
    const auto same = [](const RunIdentity& own, const RunIdentity& other) {
        return std::ranges::equal(own, other, [](const auto& x, const auto& y) {
            return x == y || (x.first == "recipe.name" && y.first == x.first);
        });
    };
    const std::vector<QuantizedRecipe>& rows = quantized_recipes();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = i + 1; j < rows.size(); ++j) {
            CAPTURE(rows[i].name);
            CAPTURE(rows[j].name);
            CHECK_FALSE(same(identity_of(recipe_by_name(rows[i].name)), identity_of(recipe_by_name(rows[j].name))));
        }
    }
}
