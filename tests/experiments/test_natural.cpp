// What the experiments in which low precision fails by itself share.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/data/generated.hpp"
#include "experiments/natural/lost_updates.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/training/parity.hpp"

namespace {

using namespace ulp;

RunContext context_with_seed(std::uint64_t seed) {
    return {seed, RunSize::quick, "", Settings({}, RunSize::quick), [](double) {}};
}

struct FewDigits {
    DataSplit data = generated_digit_split(200, 50, 14, 3);
    Training training{.arithmetic = fp32_arithmetic(),
                      .task = images_task(dense_net({8}), data, 20),
                      .optimizer = {.learning_rate = 0.1},
                      .steps = 6};
};

TEST_CASE("a training starts from the weights that one with the same seed left") {
    const FewDigits digits;
    Training first = digits.training;
    first.task = natural::keeping_weights(digits.training.task);
    Result result("digits");
    const Comparison runs = compare(context_with_seed(5), result, {first}, 2);
    const auto weights = natural::weights_left(context_with_seed(5), runs);
    Training second = first;
    second.task = natural::keeping_weights(natural::starting_from(digits.training.task, weights));
    second.steps = 1;
    second.optimizer.learning_rate = 0;
    const Learned start = train(second, 6);
    CHECK(start.scores[test_accuracy] == runs.runs[0][1].scores[test_accuracy]);
    REQUIRE(weights(6).size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(std::ranges::equal(start.kept<natural::Weights>()[i].values(), weights(6)[i].values()));
        CHECK_FALSE(std::ranges::equal(weights(5)[i].values(), weights(6)[i].values()));
    }
}

TEST_CASE("a schedule of ones changes nothing, one of zeros leaves the weights alone") {
    const FewDigits digits;
    const std::vector<double> plain = train(digits.training, 1).losses;
    Training other = digits.training;
    other.schedule = [](std::int64_t, std::int64_t) { return 1.0; };
    CHECK(train(other, 1).losses == plain);
    other.schedule = [](std::int64_t step, std::int64_t) { return step < 2 ? 1.0 : 0.0; };
    other.task = natural::watching_moves(other.task);
    const Learned stopped = train(other, 1);
    CHECK(std::equal(plain.begin(), plain.begin() + 3, stopped.losses.begin()));
    CHECK(stopped.losses[3] != plain[3]);
    CHECK(stopped.kept<natural::WeightMoves>().standing[1] < 1);
    CHECK(stopped.kept<natural::WeightMoves>().standing[2] == 1);
}

TEST_CASE("an update below half an ulp is lost, one above it is not") {
    for (const FloatFormat& format : natural::weight_formats) {
        for (const float weight : {1.25F, 0.0131F, -3.7F, 0x1.4p-120F}) {
            const auto rounded = [&](float x) {
                Tensor tensor({1}, std::vector<float>{x});
                tensor.round_to_format(ComputeFormat{format, {}});
                return tensor[0];
            };
            const float w = rounded(weight);
            if (w == 0) continue;  // below fp16's range
            const auto half = static_cast<float>(natural::half_ulp(format, w));
            // Away from 0, where no binade ends.
            CHECK(rounded(w + std::copysign(0.99F * half, w)) == w);
            CHECK(rounded(w + std::copysign(1.01F * half, w)) != w);
        }
    }
}

TEST_CASE("what stands still in 16 bits is what fp32's updates predict in the first step") {
    const FewDigits digits;
    Training training = digits.training;
    training.optimizer = {.kind = OptimizerKind::adamw, .learning_rate = 1e-4};
    training.task = natural::watching_moves(training.task);
    training.steps = 1;
    const Learned fp32 = train(training, 1);
    training.arithmetic.recipe.weights = formats::bf16;  // alone: everything else stays in fp32
    const Learned bf16 = train(training, 1);
    const auto& foretold = fp32.kept<natural::WeightMoves>();
    CHECK(foretold.predicted[0][0] > 0.1);
    CHECK(foretold.predicted[0][0] < 0.9);
    CHECK(bf16.kept<natural::WeightMoves>().standing[0] == doctest::Approx(foretold.predicted[0][0]).epsilon(0.02));
}

TEST_CASE("a sheared picture has its rows moved in proportion to their height") {
    const Dataset plain = generated_digits({.count = 1, .side = 14, .seed = 1});
    CHECK(natural::sheared(plain, 0).pixels == plain.pixels);
    const Dataset moved = natural::sheared(plain, 100);
    const auto at = [](const Dataset& data, Index y, Index x) {
        return data.pixels[static_cast<std::size_t>(14 * y + x)];
    };
    for (Index x = 0; x < 14; ++x) {
        CHECK(at(moved, 13, x) == (x < 7 ? 0 : at(plain, 13, x - 7)));  // 6.5 pixels, to the nearest away from 0
        CHECK(at(moved, 0, x) == (x >= 7 ? 0 : at(plain, 0, x + 7)));
        CHECK(at(moved, 8, x) == (x < 2 ? 0 : at(plain, 8, x - 2)));
    }
}

TEST_CASE("worse is what parity refutes, and as undecided") {
    const Quantity score{"score", "%", 100, 1};
    const std::vector<double> fp32 = {0.90, 0.94, 0.92};
    const Margin margin{0.01, "one image in a hundred", Margin::Side::not_below};
    const auto check = [&](const std::vector<double>& arm) { return falls_short(arm, fp32, margin, score); };
    CHECK(check({0.85, 0.90, 0.87}).outcome == Outcome::holds);
    CHECK(check({0.85, 0.90, 0.87}).expected == "more than 1.0 % below the reference (one image in a hundred)");
    CHECK(check({0.90, 0.94, 0.92}).outcome == Outcome::refuted);
    CHECK(check({0.90, 0.94, 0.85}).outcome == Outcome::undecided);
    CHECK(check({0.90, 0.94, std::nan("")}).outcome == Outcome::holds);
}

}  // namespace
