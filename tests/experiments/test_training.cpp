// The training harness of the experiments: runs, comparisons, and the rules by which an arm is as good as another.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/data/digits.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace {

using namespace ulp;

RunContext context_with_seed(std::uint64_t seed) {
    return {seed, true, "", Settings({}, true), [](double) {}};
}

TEST_CASE("the two rules of parity differ where the arm is better, and where the reference scatters") {
    const Parity two_sided{Parity::Rule::mean_within_spread, 0.01};
    const Parity one_sided{Parity::Rule::median_not_below, 0.01};
    const Spread narrow = spread_of({0.900, 0.902, 0.904});
    const Spread better = spread_of({0.95, 0.96, 0.97});
    CHECK_FALSE(as_good(better, narrow, two_sided));
    CHECK(as_good(better, narrow, one_sided));
    const Spread worse = spread_of({0.87, 0.88, 0.88});
    CHECK_FALSE(as_good(worse, narrow, two_sided));
    CHECK_FALSE(as_good(worse, narrow, one_sided));
    const Spread wide = spread_of({0.70, 0.90, 0.95});
    const Spread far_above = spread_of({0.99, 0.99, 0.99});
    CHECK(as_good(far_above, wide, two_sided));  // the reference's own width is allowed
    const Spread lost = spread_of({std::nan(""), 0.9, 0.9});
    CHECK(std::isnan(lost.mean));
    CHECK(lost.least == 0.9);
    CHECK_FALSE(as_good(lost, narrow, two_sided));
    CHECK_THROWS_AS(spread_of({}), std::invalid_argument);
}

TEST_CASE("means of windows leave out what is not finite, and a window that is not full") {
    const std::vector<Point> points = window_means({1, 3, std::numeric_limits<double>::infinity(), 1, 5, 7, 9}, 2, 0.5);
    REQUIRE(points.size() == 2);
    CHECK(points[0].x == 0.5);
    CHECK(points[0].y == 2);
    CHECK(points[1].x == 4.5);
    CHECK(points[1].y == 6);
}

struct Digits {
    DataSplit data = generated_digit_split(200, 50, 14, 3);
    Training training{.arithmetic = {"fp16", recipe_by_name("mixed_fp16"), "soft:h100"},
                      .task = images_task(dense_net({8}), data, 20),
                      .optimizer = {.learning_rate = 0.1, .momentum = 0.9},
                      .steps = 6,
                      .decay = true};
};

TEST_CASE("a comparison holds what each training gives by itself, arm by arm and seed by seed") {
    const Digits digits;
    const Comparison runs =
        compare(context_with_seed(5), {fp32_arithmetic(), digits.training.arithmetic}, digits.training, 2);
    REQUIRE(runs.runs.size() == 2);
    for (std::size_t arm = 0; arm < 2; ++arm) {
        Training alone = digits.training;
        alone.arithmetic = runs.arithmetics[arm];
        for (std::size_t i = 0; i < 2; ++i) {
            const Learned learned = train(alone, 5 + i);
            CHECK(learned.losses == runs.runs[arm][i].losses);
            CHECK(learned.scores == runs.runs[arm][i].scores);
            CHECK(learned.losses.size() == 6);
        }
    }
    CHECK(runs.runs[0][0].losses != runs.runs[0][1].losses);
    CHECK(runs.runs[0][0].losses != runs.runs[1][0].losses);
}

TEST_CASE("measuring between two steps changes nothing, and a task's hooks see every step") {
    Digits digits;
    const Learned plain = train(digits.training, 1);
    std::vector<std::int64_t> tapped;
    std::int64_t updates = 0;
    std::int64_t products = 0;
    digits.training.task = [inner = digits.training.task, &tapped, &updates, &products](Model& model,
                                                                                        std::uint64_t seed) {
        Task task = inner(model, seed);
        task.watched = [](std::int64_t step) { return step % 2 == 1; };
        task.tap = [&tapped](std::int64_t step, const TapEvent&) {
            if (tapped.empty() || tapped.back() != step) tapped.push_back(step);
        };
        const auto seen = std::make_shared<std::int64_t>(0);
        task.product_tap = [&products](const ProductRecord&) { ++products; };
        task.before_update = [&updates](Optimizer&) { ++updates; };
        task.after_step = [seen](Trainer&, const StepResult& done) { *seen += done.step; };
        keep(task, seen);
        return task;
    };
    TrainingRun run(digits.training, 1);
    for (std::int64_t step = 0; step < digits.training.steps; ++step) {
        run.step();
        CHECK(run.measured().scores.size() == 2);
    }
    const Learned measured = run.measured();
    CHECK(measured.losses == plain.losses);
    CHECK(measured.scores == plain.scores);
    CHECK(measured.kept<std::int64_t>() == 0 + 1 + 2 + 3 + 4 + 5);
    CHECK(tapped == std::vector<std::int64_t>{1, 3, 5});
    CHECK(updates == 6);
    CHECK(products == 6 * 5);  // forward 2, weight gradients 2, input gradients but of the first layer 1
}

TEST_CASE("decay and clipping change the training") {
    Digits digits;
    const std::vector<double> decaying = train(digits.training, 1).losses;
    digits.training.decay = false;
    const std::vector<double> steady = train(digits.training, 1).losses;
    digits.training.clip_norm = 0.01;
    const std::vector<double> clipped = train(digits.training, 1).losses;
    CHECK(decaying[1] == steady[1]);  // the first step has the full rate
    CHECK(decaying[2] != steady[2]);
    CHECK(clipped[0] == steady[0]);
    CHECK(clipped[1] != steady[1]);
}

}  // namespace
