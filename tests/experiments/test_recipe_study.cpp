// Several recipes on one net: the verdict in a sentence, where runs part, and the command.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "experiments/cli/recipe_page.hpp"
#include "experiments/cli/recipe_study.hpp"
#include "softfloat/errors.hpp"

namespace {

using namespace ulp;

/// A study whose runs ended with these losses: [recipe][seed]; curves are flat at them.
RecipeStudy ended_with(const std::vector<std::string>& recipes, const std::vector<std::vector<double>>& losses,
                       double margin = 0.02) {
    RecipeStudy study;
    study.options.margin = margin;
    study.options.training.steps = 4;
    study.options.seeds = static_cast<std::int64_t>(losses.front().size());
    for (std::size_t arm = 0; arm < recipes.size(); ++arm) {
        study.options.arithmetics.push_back(arithmetic_of_text(recipes[arm], {}));
        std::vector<Learned> runs;
        for (const double loss : losses[arm]) {
            const double scale = recipes[arm].find('@') == std::string::npos ? 1 : 4096;
            runs.push_back({.losses = {2, loss, loss, loss}, .scales = {scale, scale, scale, scale}, .scores = {loss}});
        }
        study.comparison.runs.push_back(std::move(runs));
    }
    study.parameters = {"fc1.weight", "fc2.weight"};
    for (const std::int64_t step : {1, 2, 4}) {
        Divergence now{step, {}};
        for (std::size_t arm = 0; arm < recipes.size(); ++arm) now.parameters.push_back({0.1 * double(arm), 0.5});
        study.divergence.push_back(std::move(now));
    }
    return study;
}
std::string sentence(const RecipeStudy& study) { return verdict_sentence(study, verdicts_of(study)); }

constexpr double nan_loss = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("the verdict names the cheapest recipe whose loss stays within the margin") {
    CHECK(sentence(ended_with({"fp32", "mixed_fp16", "fp8"}, {{1, 1.1, 0.9}, {1, 1.1, 0.9}, {1.001, 1.101, 0.901}})) ==
          "fp8 suffices");
    CHECK(sentence(ended_with({"fp32", "mixed_fp16@2^12", "fp8"}, {{1, 1.1, 0.9}, {1, 1.1, 0.9}, {2, 2.1, 1.9}})) ==
          "keep mixed_fp16 with 2^12: the loss is too high with fp8");
    CHECK(sentence(ended_with({"fp32", "fp8"}, {{1, 1.1, 0.9}, {nan_loss, nan_loss, nan_loss}})) ==
          "keep fp32, the reference: the loss is too high with fp8");
    CHECK(sentence(ended_with({"fp32", "fp8"}, {{1, 1.1, 0.9}, {0.5, 0.6, 0.4}})) == "fp8 suffices");  // better is good
}

TEST_CASE("an undecided recipe says how many more seeds would probably decide") {
    const RecipeStudy study = ended_with({"fp32", "bf16"}, {{1, 1, 1}, {1.004, 0.994, 1.014}});
    const std::vector<ArmVerdict> judged = verdicts_of(study);
    CHECK(judged[1].outcome == Outcome::undecided);
    // The mean lies 0.016 inside the margin of 0.02, a difference's deviation is 0.01: t(0.975, n - 1) * 0.01 / sqrt(n)
    // is 0.0159 at n = 4, with t = 3.182.
    CHECK(judged[1].more_seeds == 1);
    CHECK(sentence(study) == "undecided: 1 more seed for bf16; until then keep fp32, the reference");
    const RecipeStudy one_seed = ended_with({"fp32", "bf16"}, {{1}, {1}});
    CHECK(sentence(one_seed) == "undecided: more seeds for bf16; until then keep fp32, the reference");
}

TEST_CASE("a run leaves the band where its losses stay outside, and the farthest parameter there is named") {
    const RecipeStudy study = ended_with({"fp32", "fp8"}, {{1, 1.1}, {3, 3.1}});
    const std::vector<ArmVerdict> judged = verdicts_of(study);
    CHECK(judged[1].leaves_band_at == 1);
    CHECK(judged[1].layer == "fc2.weight");
    CHECK(verdicts_of(ended_with({"fp32", "fp8"}, {{1, 1.1}, {1.05, 1.06}}))[1].leaves_band_at == -1);
    const std::string page = recipe_page(study, judged, "a<b");
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
    CHECK(cost_of(recipe_by_name("nvfp4")) < cost_of(recipe_by_name("fp8")));
    CHECK(cost_of(recipe_by_name("fp8")) < cost_of(recipe_by_name("mixed_fp16")));
    CHECK(cost_of(recipe_by_name("mixed_fp16")) < cost_of(recipe_by_name("fp32")));
}

TEST_CASE("the reference against itself holds, and equal arithmetics never part") {
    const NetDescription net = description_of(net_by_name("mlp"));
    NetOptions training;
    training.steps = 6;
    training.batch = 32;
    training.images = 128;
    const RecipeStudyOptions options{
        .arithmetics = {arithmetic_of_text("fp32", training), arithmetic_of_text("fp32", training),
                        arithmetic_of_text("mixed_fp16@2^60", training)},
        .training = training,
        .seeds = 2};
    const RecipeStudy study = study_recipes(net, options, [](double) {});
    const std::vector<ArmVerdict> judged = verdicts_of(study);
    CHECK(judged[1].outcome == Outcome::holds);
    CHECK(judged[1].difference.mean == 0);
    for (const Divergence& each : study.divergence) {
        for (const double distance : each.parameters[1]) CHECK(distance == 0);
    }
    CHECK(study.divergence.back().step == 6);
    CHECK(judged[2].outcome == Outcome::refuted);  // the scaled loss is infinite in fp16's gradients
    CHECK(judged[2].leaves_band_at >= 0);
}
