// Whoever looks at a training changes nothing in it.
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/engine/training/resume_net.hpp"

namespace {

using namespace ulp;
using test::ResumeRun;

constexpr int trained_steps = 4;

/// What a training showed and left, step by step.
struct Seen {
    std::vector<std::string> digests{};
    std::vector<std::uint64_t> losses{};            // their bits: pure fp16 may end in NaN
    std::map<std::string, std::int64_t> counted{};  // elements stored, by place
    std::int64_t products = 0;
};

/// A training under the eyes of all observers; `between` is called after each step.
template <class Between>
Seen train(const Recipe& recipe, const Between& between) {
    ResumeRun run(7, 12, OptimizerKind::adam, recipe);
    Watch watch;
    watch.find_nonfinite = false;
    Seen seen;
    run.trainer.observers().watch = &watch;
    run.trainer.observers().product_tap = [&](const ProductRecord&) { ++seen.products; };
    for (int i = 0; i < trained_steps; ++i) {
        seen.losses.push_back(std::bit_cast<std::uint64_t>(run.step().loss));
        between(run);
        seen.digests.push_back(run.digest());
    }
    for (const auto& [place, counts] : watch.rounding) seen.counted[place] = counts.elements;
    return seen;
}

double evaluate(ResumeRun& run, Evaluation evaluation) {
    return accuracy(
        std::move(evaluation), [&](Var images) { return run.logits(images); }, run.data, 16);
}

TEST_CASE("evaluating after any step changes no bit of the training, no statistic and no count, in every recipe") {
    for (const Recipe& recipe : recipes()) {
        if (recipe.weights == formats::fp64) continue;  // for gradient checks
        CAPTURE(recipe.name);
        const Seen alone = train(recipe, [](ResumeRun&) {});
        const Seen evaluated = train(recipe, [](ResumeRun& run) {
            (void)evaluate(run, run.trainer.evaluation());
            (void)evaluate(run, run.trainer.evaluation(Engine("fp32", "soft:ieee")));
            (void)evaluate(run, run.trainer.evaluation({.weights = EvaluatedWeights::masters, .fp32 = true}));
        });
        CHECK(alone.digests == evaluated.digests);
        CHECK(alone.losses == evaluated.losses);
        CHECK(alone.counted == evaluated.counted);
        CHECK(alone.products == evaluated.products);
        // Two layers; the images need no gradient. A promoted product is several.
        CHECK((alone.products == 5 * trained_steps || recipe.products.fprop.promote_every > 0));
    }
}

TEST_CASE("a forward pass in the training's own run is no evaluation") {
    const Recipe& recipe = recipe_by_name("fp8");
    const Seen alone = train(recipe, [](ResumeRun&) {});
    const Seen disturbed = train(recipe, [](ResumeRun& run) {
        Evaluation evaluation = run.trainer.evaluation();
        evaluation.run.training = true;  // batch norm collects this batch's statistics
        (void)evaluate(run, evaluation);
    });
    CHECK(alone.digests != disturbed.digests);
}

TEST_CASE("an evaluation gives the same answer however often and in whatever batches it is asked") {
    for (const char* name : {"fp8", "mixed_fp16"}) {
        CAPTURE(std::string(name));
        ResumeRun run(7, 12, OptimizerKind::adam, recipe_by_name(name));
        for (int i = 0; i < trained_steps; ++i) run.step();
        Evaluation evaluation = run.trainer.evaluation();
        const auto logits = [&](Index first, Index count) {
            const Batch batch = batch_of(run.data, index_range(first, first + count));
            Tape tape(evaluation);
            const Tensor result = run.logits(images_on(tape, batch.images)).value();
            return std::vector<float>(result.values().begin(), result.values().end());
        };
        const std::vector<float> whole = logits(0, 32);
        std::vector<float> parts = logits(0, 16);
        for (const float x : logits(16, 16)) parts.push_back(x);
        CHECK(whole == parts);
        CHECK(whole == logits(0, 32));
    }
}

}  // namespace
