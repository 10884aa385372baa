// The training harness of the experiments: runs, comparisons, and the rules by which an arm is as good as another.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/data/generated.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/run_parts.hpp"
#include "experiments/framework/statistics.hpp"
#include "experiments/framework/values.hpp"
#include "experiments/training/comparison.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/parity.hpp"
#include "experiments/training/tasks.hpp"
#include "experiments/training/training.hpp"
#include "experiments/training/watched_nets.hpp"
#include "softfloat/errors.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;

RunContext context_with_seed(std::uint64_t seed) {
    return {seed, RunSize::quick, "", Settings({}, RunSize::quick), [](double) {}};
}

TEST_CASE("parity is judged by the interval of paired differences") {
    const Quantity score{"score", "%", 100, 1};
    const std::vector<double> fp32 = {0.90, 0.94, 0.92, 0.91};
    const auto moved = [&](double by, double spread) {
        std::vector<double> arm = fp32;
        for (std::size_t i = 0; i < arm.size(); ++i) arm[i] += by + (i % 2 == 0 ? spread : -spread);
        return arm;
    };
    const Margin either{0.01, "one image in a hundred"};
    const Margin not_below{0.01, "", Margin::Side::not_below};
    const Margin not_above{0.01, "", Margin::Side::not_above};
    const auto outcome = [&](double by, double spread, const Margin& margin) {
        return as_good(moved(by, spread), fp32, margin, score).outcome;
    };
    CHECK(outcome(0.002, 0.001, either) == Outcome::holds);
    CHECK(outcome(0.02, 0.001, either) == Outcome::refuted);
    CHECK(outcome(0.02, 0.001, not_below) == Outcome::holds);
    CHECK(outcome(0.02, 0.001, not_above) == Outcome::refuted);
    CHECK(outcome(-0.02, 0.001, not_below) == Outcome::refuted);
    CHECK(outcome(0.009, 0.01, either) == Outcome::undecided);
    CHECK(outcome(0, 0.05, either) == Outcome::undecided);
    CHECK(outcome(std::nan(""), 0, either) == Outcome::refuted);
    CHECK(outcome(std::numeric_limits<double>::infinity(), 0, not_above) == Outcome::refuted);

    const auto short_of = [&](double by, double spread) {
        return falls_short(moved(by, spread), fp32, not_below, score);
    };
    CHECK(short_of(-0.02, 0.001).outcome == Outcome::holds);
    CHECK(short_of(std::nan(""), 0).outcome == Outcome::holds);
    CHECK(short_of(-0.002, 0.001).outcome == Outcome::refuted);
    CHECK(short_of(-0.01, 0.05).outcome == Outcome::undecided);
    CHECK(short_of(-0.02, 0.001).expected == "more than 1.0 % below the reference ()");
    const std::vector<double> diverged(fp32.size(), std::nan(""));
    CHECK(falls_short(fp32, diverged, not_below, score).outcome == Outcome::fails);
    // Without a margin the sign is judged: no difference is none that could be told.
    const Margin sign{0, "its sign", Margin::Side::not_above};
    CHECK(falls_short(fp32, fp32, sign, score).outcome == Outcome::refuted);
    CHECK(falls_short(moved(0.02, 0.001), fp32, sign, score).outcome == Outcome::holds);
    CHECK(falls_short(fp32, fp32, sign, score).expected == "above the reference (its sign)");
    CHECK(as_good(fp32, fp32, sign, score).expected == "not above the reference (its sign)");

    const Check check = as_good(moved(0.002, 0.001), fp32, either, score);
    CHECK(check.expected == "at most 1.0 % from the reference (one image in a hundred)");
    CHECK(check.measured ==
          "92.0 %, the reference 91.8 %: difference 0.20 %, 95 % interval 0.02 % to 0.38 %, of 4 pairs; worse by at "
          "most 0.38 %");
    CHECK(check.parity.value().seeds == 4);
    CHECK(as_good(moved(-0.002, 0.001), fp32, not_below, score).measured.ends_with("; worse by at most 0.38 %"));
    CHECK(as_good(moved(0.002, 0.001), fp32, not_below, score).measured.ends_with("of 4 pairs"));
    // No interval is without width: of shares as wide as none of the examples allows, of others half a digit.
    const Scores full({1, 1, 1}, 100);
    const Check equal_shares = as_good(full, full, {0.05, ""}, score);
    CHECK(equal_shares.parity.value().high == doctest::Approx(1 - std::pow(0.025, 0.01)));
    CHECK(equal_shares.parity.value().low == -equal_shares.parity.value().high);
    CHECK(equal_shares.measured.ends_with("; at the ceiling"));
    CHECK(equal_shares.outcome == Outcome::holds);
    CHECK(as_good(full, full, {0.01, ""}, score).outcome == Outcome::undecided);
    const Check equal_losses = as_good(fp32, fp32, either, {"loss", "", 1, 3});
    CHECK(equal_losses.parity.value().high == doctest::Approx(0.5e-4));
    const std::vector<double> one = {0.9};
    CHECK(as_good(one, one, either, score).outcome == Outcome::undecided);
    CHECK(as_good(one, one, either, score).measured.ends_with("of one seed; at least 2 seeds would tell"));
    CHECK_THROWS_AS(as_good(one, fp32, either, score), std::invalid_argument);
    CHECK_THROWS_AS(spread_of({}), std::invalid_argument);
}

TEST_CASE("exact intervals and corrections are those of the books") {
    // The tails of the binomial distribution at the ends, summed term by term.
    const auto at_least = [](std::int64_t count, std::int64_t trials, double p) {
        double sum = 0;
        for (std::int64_t i = count; i <= trials; ++i) {
            const auto n = static_cast<double>(trials);
            const auto k = static_cast<double>(i);
            sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                            (n - k) * std::log1p(-p));
        }
        return sum;
    };
    for (const auto& [count, trials] : {std::pair{1, 20}, {19, 20}, {480, 500}, {7, 1000}}) {
        const ShareInterval interval = exact_share(count, trials);
        CHECK(at_least(count, trials, interval.low) == doctest::Approx(0.025).epsilon(1e-4));
        CHECK(1 - at_least(count + 1, trials, interval.high) == doctest::Approx(0.025).epsilon(1e-4));
    }
    CHECK(exact_share(0, 10).low == 0);
    CHECK(exact_share(10, 10).high == 1);
    CHECK(exact_share(10, 10).low == doctest::Approx(std::pow(0.025, 0.1)));
    CHECK_THROWS_AS(exact_share(2, 1), std::invalid_argument);
    const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
    CHECK(holm(p) == std::vector<double>{0.03, 0.06, 0.06, 0.02});
    CHECK(benjamini_hochberg(p) == std::vector<double>{0.02, 0.04, 0.04, 0.02});
    // An interval that just touches the margin is at the level, in either direction.
    for (const MarginSide side : {MarginSide::either, MarginSide::not_above}) {
        CHECK(p_value({0.05, 0.01, 0.05, 4, side}) == doctest::Approx(0.025).epsilon(1e-3));
    }
    CHECK(p_value({0.05, -0.05, 0.01, 4, MarginSide::not_below}) == doctest::Approx(0.025).epsilon(1e-3));
    CHECK(p_value({0.05, 0.05, 0.09, 4, MarginSide::not_above, true}) == doctest::Approx(0.025).epsilon(1e-3));
    CHECK(p_value({0.05, 0, 0, 4}) == 1);
    CHECK(p_value({0.05, -HUGE_VAL, HUGE_VAL, 1}) == 1);
    CHECK(p_value({0.05, 0.01, 0.04, 1}) == 1);  // one seed tells nothing
    CHECK(p_value({0.05, -HUGE_VAL, HUGE_VAL, 4}) == 1);
    // What lies beyond the other edge counts where the margin has two sides.
    CHECK(p_value({0.05, -0.09, -0.07, 4, MarginSide::not_above}) < 0.001);
    CHECK(p_value({0.05, -0.09, -0.07, 4, MarginSide::either}) > 0.9);
    CHECK(p_value({0.05, 0.07, 0.09, 4, MarginSide::not_below}) < 0.001);
}

TEST_CASE("a parity with a net that has not learned tells nothing") {
    Result result("sample");
    Check as_good_as{"at least 90 %", "95 %", Outcome::holds};
    as_good_as.parity.emplace();
    Check not_worse = as_good_as;
    not_worse.outcome = Outcome::refuted;
    Check worse = not_worse;
    not_worse.parity->worse = true;
    const auto verdict = [&](Result& of, const char* id, const Check& check) {
        of.measured(id, "", "", check);
        return of.claims().back().verdict;
    };
    CHECK(verdict(result, "before", as_good_as) == Verdict::reproduced);
    result.measured("learns", "", "", {"at least 90 %", "10 %", Outcome::fails});
    CHECK(verdict(result, "parity", as_good_as) == Verdict::undecided);
    CHECK(result.claims().back().measured == "95 %; this tells nothing: at least 90 % presupposed, 10 % measured");
    CHECK(verdict(result, "not_worse", not_worse) == Verdict::undecided);
    CHECK(verdict(result, "worse", worse) == Verdict::refuted);
    CHECK(verdict(result, "alone", {"", "", Outcome::holds}) == Verdict::reproduced);  // compares with no reference
    Result nets("sample");
    nets.measured("lstm_learns", "", "", {"", "", Outcome::fails});
    CHECK(verdict(nets, "lstm_1", as_good_as) == Verdict::undecided);
    CHECK(verdict(nets, "transformer_1", as_good_as) == Verdict::reproduced);
}

TEST_CASE("what the setting names is left out of 16-bit recipes, and nothing of fp32's") {
    const auto left = [](const char* part, const char* name) {
        RunContext context = context_with_seed(1);
        context.settings.set(std::string("without=") + part);
        int changes = 0;
        context.left_out = [&] { ++changes; };
        Recipe recipe = recipe_by_name(name);
        leave_out(context, recipe);
        return std::pair{recipe, changes};
    };
    CHECK(left("scale", "mixed_fp16").first.loss_scale.initial == 1);
    CHECK_FALSE(left("scale", "mixed_fp16").first.loss_scale.dynamic);
    CHECK_FALSE(left("masters", "mixed_fp16").first.master_weights);
    CHECK(left("sums", "mixed_fp16").first.accumulator == formats::fp16);
    CHECK(left("norms", "mixed_fp16").first.compute == formats::fp16);
    CHECK(left("all", "mixed_fp16").second == 4);
    CHECK(left("all", "bf16").second == 2);  // masters and norms: it has no scale, and sums in bf16 no unit has
    CHECK(left("all", "fp32").second == 0);
    CHECK_THROWS_AS(left("nothing", "bf16"), UsageError);
}

TEST_CASE("a reduction before a claim keeps NaN, wherever it comes") {
    const double nan = std::nan("");
    CHECK(larger(1, 2) == 2);
    CHECK(smaller(1, 2) == 1);
    for (const auto& [a, b] : {std::pair{nan, 1.0}, {1.0, nan}, {nan, HUGE_VAL}, {-HUGE_VAL, nan}}) {
        CHECK(std::isnan(larger(a, b)));
        CHECK(std::isnan(smaller(a, b)));
    }
    const Spread spread = spread_of({0.5, nan, 0.25});
    CHECK(std::isnan(spread.least));
    CHECK(std::isnan(spread.largest));
    CHECK(std::isnan(spread.mean));
}

TEST_CASE("the seeds that an undecided claim asks for decide it, if they scatter as before") {
    const Margin margin{0.01, ""};
    const std::vector<double> reference(4, 0.0);
    const std::vector<double> arm = {0.02, -0.01, 0.015, -0.013};
    const PairedDifference difference = paired_difference(arm, reference);
    const std::int64_t seeds = seeds_needed(difference, margin);
    const auto reach = [&](std::int64_t n) {
        return std::fabs(difference.mean) +
               t_quantile(n - 1) * difference.deviation / std::sqrt(static_cast<double>(n));
    };
    CHECK(reach(seeds) <= margin.size);
    CHECK(reach(seeds - 1) > margin.size);
    CHECK(seeds_needed({margin.size, 0, 0.04, 0.01, 4}, margin) == 0);
    // Outside, the interval has to leave the edge that the mean has passed.
    for (const double side : {1.0, -1.0}) {
        const PairedDifference outside{side * 0.02, 0, 0, 0.015, 4};
        const std::int64_t needed = seeds_needed(outside, margin);
        const auto width = [&](std::int64_t n) {
            return t_quantile(n - 1) * 0.015 / std::sqrt(static_cast<double>(n));
        };
        CHECK(0.02 - width(needed) >= margin.size);
        CHECK(0.02 - width(needed - 1) < margin.size);
    }
    const Quantity score{"score", "", 1, 3};
    const std::vector<double> scattered = {0.03, -0.01, 0.035, 0.005};
    const std::string outside = "; the mean lies outside the margin";
    CHECK(as_good(scattered, reference, margin, score).measured.ends_with(outside));
    CHECK(falls_short(scattered, reference, margin, score).measured.ends_with(outside));
    CHECK(as_good(arm, reference, margin, score).measured.ends_with("; the interval straddles the margin"));
    // A mean next to the margin needs more seeds than can be counted one by one.
    const double beside = std::nextafter(margin.size, 0.0);
    CHECK(seeds_needed({beside, beside - 0.03, beside + 0.03, 0.01, 3}, margin) == 0);
    // Many seeds are found as if counted up from 2.
    const PairedDifference wide{0, -0.5, 0.5, 1000 * margin.size, 4};
    CHECK(seeds_needed(wide, margin) == 3841600);
}

TEST_CASE("the quantiles of Student's t leave 2.5 % above them") {
    constexpr double rounding = 0.0005 * 0.065;  // half of the table's last digit, times the density there
    for (std::int64_t degrees = 1; degrees <= 200; ++degrees) {
        const auto n = static_cast<double>(degrees);
        // The density's integral from 0 to t, by Simpson's rule in t = sqrt(n) tan(u).
        const double end = std::atan(t_quantile(degrees) / std::sqrt(n));
        const double scale = std::exp(std::lgamma((n + 1) / 2) - std::lgamma(n / 2)) / std::sqrt(std::acos(-1));
        constexpr int steps = 2000;
        double sum = 0;
        for (int i = 0; i <= steps; ++i) {
            sum += (i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2) * std::pow(std::cos(end * i / steps), n - 1);
        }
        const double above = 0.5 - scale * sum * end / steps / 3;
        INFO(degrees);
        CHECK(above <= 0.025 + rounding);
        if (degrees <= 30) CHECK(std::fabs(above - 0.025) <= rounding);
    }
}

TEST_CASE("a confidence of 95 % is one: of 4000 intervals about as many hold the true mean") {
    Random random(1, "intervals");
    constexpr int intervals = 4000;
    int held = 0;
    for (int i = 0; i < intervals; ++i) {
        std::vector<double> arm;
        for (int seed = 0; seed < 5; ++seed) arm.push_back(0.3 + random.normal());
        const PairedDifference difference = paired_difference(arm, std::vector<double>(5, 0.0));
        held += difference.low <= 0.3 && 0.3 <= difference.high ? 1 : 0;
    }
    // Five standard deviations of the binomial distribution.
    CHECK(std::fabs(held - 0.95 * intervals) < 5 * std::sqrt(intervals * 0.95 * 0.05));
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
                      .schedule = linear_decay_factor};
};

TEST_CASE("a look at a training changes nothing, and finds what the net's gradients are like") {
    const Digits digits;
    Training watched = digits.training;
    watched.arithmetic = fp32_arithmetic();
    const Learned plain = train(watched, 1);
    watched.task = watching_gradient_ranges(digits.training.task);
    const Learned seen = train(watched, 1);
    watched.task = watching_largest_gradients(digits.training.task);
    const auto largest = train(watched, 1).kept<std::vector<double>>();
    CHECK(seen.losses == plain.losses);
    CHECK(seen.scores == plain.scores);
    const auto& ranges = seen.kept<GradientRanges>();
    CHECK(ranges.infinite == 0);
    REQUIRE(largest.size() == 6);
    CHECK(*std::ranges::max_element(largest) == static_cast<double>(ranges.largest));
    CHECK(ranges.histogram.largest_exponent() == std::ilogb(ranges.largest));
    const auto all = pooled(ranges.by_tensor, [](const auto& named) { return named.second; });
    CHECK(all.equals_shifted(ranges.histogram, 0));
}

TEST_CASE("the loss scales that are predicted lose no more than half of any tensor, and overflow nowhere") {
    GradientRanges ranges;
    ranges.by_tensor["small"].add(std::vector<float>{0x1p-30F, 0x1p-29F, 0x1p-20F});
    ranges.by_tensor["large"].add(std::vector<float>{1.0F, 0.0F});
    ranges.histogram = pooled(ranges.by_tensor, [](const auto& named) { return named.second; });
    ranges.largest = 1;
    std::vector<Learned> runs(2);
    runs[0].more = GradientRanges{};
    runs[1].more = ranges;
    const ScalePrediction prediction(runs);
    CHECK(prediction.gradients.lost_share(0) == 0.5);
    CHECK(prediction.first_exponent() == 4);  // 2^-29 then lies at 2^-25, and one of the three is lost
    CHECK(prediction.last_exponent() == 15);  // 2^16 is infinite in fp16
    ranges.largest = 0x1.ffcp0F;
    runs[0].more = ranges;
    CHECK(ScalePrediction(runs).last_exponent() == 15);
    ranges.largest = 0x1.ffep0F;  // 65520 lies half way to 2^16
    runs[0].more = ranges;
    CHECK(ScalePrediction(runs).last_exponent() == 14);
}

TEST_CASE("one seed makes no band, and its figure says so to the template") {
    const auto has_no_band = [](const Curves& curves) {
        const Figure figure = figure_of_curves(curves, {}, {"loss", "", "", ""});
        return std::ranges::count(figure.variables, "one_seed", &PlotVariable::first) == 1;
    };
    CHECK(has_no_band({{"fp32", "fp16"}, {{{3, 2}}, {{3, 1}}}}));
    CHECK_FALSE(has_no_band({{"fp32", "fp16"}, {{{3, 2}, {4, 2}}, {{3, 1}}}}));
}

TEST_CASE("a comparison holds what each training gives by itself, arm by arm and seed by seed") {
    const Digits digits;
    Result result("digits");
    const Comparison runs =
        compare(context_with_seed(5), result, {fp32_arithmetic(), digits.training.arithmetic}, digits.training, 2);
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

TEST_CASE("an interrupted comparison continues after its last whole run, with the same numbers and products") {
    const Digits digits;
    const test::TemporaryFolder folder;
    const std::vector<Arithmetic> arithmetics = {fp32_arithmetic(), digits.training.arithmetic};
    struct Made {
        std::vector<std::vector<Learned>> runs;
        std::vector<UnitProducts> products;
        int resumed = 0;
    };
    std::atomic<int> trained = 0;
    const auto made_by = [&](const std::string& request, bool interrupted, double least = 0) {
        ProductLedger ledger;
        const ObservedProducts observed(ledger);
        RunParts parts(folder / "parts", request, ledger, least);
        RunContext context = context_with_seed(5);
        context.parts = &parts;
        trained = 0;
        Result result("digits");
        const auto run = [&](std::size_t arm, std::uint64_t seed) {
            if (interrupted && arm == 0) throw DataError("interrupted");  // the arm that is begun last
            ++trained;
            Training training = digits.training;
            training.arithmetic = arithmetics[arm];
            Learned learned = train(training, seed);
            learned.losses.push_back(std::numeric_limits<double>::quiet_NaN());
            return learned;
        };
        const Comparison comparison = compare(context, result, arithmetics, run, 2);
        return Made{comparison.runs, ledger.products(), parts.resumed()};
    };
    const Made whole = made_by("whole", false, 1e9);
    CHECK(trained == 4);
    CHECK_FALSE(std::filesystem::exists(folder / "parts"));  // none took so long
    CHECK_THROWS_AS(made_by("request", true), DataError);
    const Made other = made_by("another request", false, 1e9);
    CHECK(other.resumed == 0);
    const auto is_as_whole = [&](const Made& made) {
        for (std::size_t arm = 0; arm < 2; ++arm) {
            for (std::size_t i = 0; i < 2; ++i) {
                const Learned& expected = whole.runs[arm][i];
                const Learned& learned = made.runs[arm][i];
                CHECK(std::isnan(learned.losses.back()));
                CHECK(std::ranges::equal(std::span(learned.losses).first(6), std::span(expected.losses).first(6)));
                CHECK(learned.scales == expected.scales);
                CHECK(learned.skipped == expected.skipped);
                CHECK(learned.scores == expected.scores);
                CHECK(learned.parameters == expected.parameters);
                CHECK(learned.examples == expected.examples);
            }
        }
        REQUIRE(made.products.size() == 1);
        CHECK(made.products[0].products == whole.products[0].products);
        CHECK(made.products[0].digest == whole.products[0].digest);
    };
    const Made resumed = made_by("request", false, 1e9);
    CHECK(resumed.resumed == 2);
    CHECK(trained == 2);
    is_as_whole(resumed);
    // One of the two is damaged: it is computed again.
    const auto file = std::filesystem::directory_iterator(folder / "parts")->path();
    std::string text = read_file(file);
    text[text.find("scales") + 12] ^= 1;
    write_file(file, text);
    const Made mended = made_by("request", false);
    CHECK(mended.resumed == 1);
    is_as_whole(mended);
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
    digits.training.schedule = nullptr;
    const std::vector<double> steady = train(digits.training, 1).losses;
    digits.training.clip_norm = 0.01;
    const std::vector<double> clipped = train(digits.training, 1).losses;
    CHECK(decaying[1] == steady[1]);  // the first step has the full rate
    CHECK(decaying[2] != steady[2]);
    CHECK(clipped[0] == steady[0]);
    CHECK(clipped[1] != steady[1]);
}

}  // namespace
