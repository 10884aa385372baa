// The experiments on whole systems, small. What is spoilt on purpose must be seen: a claim that holds whatever happens
// claims nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "experiments/comparison.hpp"
#include "experiments/framework/animation.hpp"
#include "experiments/nets.hpp"
#include "experiments/utf8.hpp"
#include "experiments/watched_nets.hpp"
#include "softfloat/errors.hpp"

namespace {

using namespace ulp;

Result run_small(const std::string& name, const std::vector<std::string>& assignments) {
    const Experiment& experiment = experiment_by_name(name);
    RunContext context{1, true, "", Settings(experiment.settings, true), [](double) {}};
    for (const std::string& assignment : assignments) context.settings.set(assignment);
    Result result(name);
    experiment.run(context, result);
    return result;
}

Verdict verdict_of(const Result& result, const std::string& id) {
    for (const Claim& claim : result.claims()) {
        if (claim.id == result.experiment() + "." + id) return claim.verdict;
    }
    FAIL("no claim ", id);
    return Verdict::failed;
}

TEST_CASE("trained wholly in fp16, the systems do not keep up with fp32") {
    const Result digits = run_small("mnist_cnn", {"control=pure_fp16", "seeds=1", "epochs=1", "train_images=1000"});
    CHECK(verdict_of(digits, "parity_1") == Verdict::failed);
    CHECK(verdict_of(digits, "parameters") == Verdict::reproduced);
    const Result sales = run_small("feedforward", {"control=pure_fp16", "seeds=1", "steps=60", "days=90"});
    CHECK(verdict_of(sales, "parity_1") == Verdict::failed);
    const Result bert = run_small("bert", {"control=pure_fp16", "seeds=1", "steps=6", "pairs=100", "test_pairs=50"});
    CHECK(verdict_of(bert, "words_2") == Verdict::failed);
    const Result text =
        run_small("char_lstm", {"control=pure_fp16", "seeds=1", "steps=12", "hidden=16", "characters=6000"});
    CHECK(verdict_of(text, "lstm_1") == Verdict::failed);
    CHECK(verdict_of(text, "mlstm_1") == Verdict::failed);
    const Result translation = run_small(
        "seq2seq", {"control=pure_fp16", "seeds=1", "steps=12", "hidden=16", "sentences=300", "test_sentences=40"});
    CHECK(verdict_of(translation, "lstm_1") == Verdict::failed);
    CHECK(verdict_of(translation, "transformer_1") == Verdict::failed);
    CHECK(verdict_of(translation, "sawtooth_lstm") == Verdict::failed);
}

TEST_CASE("O3 in the place of O1 and O2 does not train the regression") {
    const std::vector<std::string> small = {"seeds=1", "regression_seeds=1", "regression_steps=6",
                                            "steps=2", "train_images=64",    "test_images=20",
                                            "hidden=2"};
    std::vector<std::string> spoilt = small;
    spoilt.emplace_back("control=all_O3");
    CHECK(verdict_of(run_small("opt_levels", spoilt), "regression_O1") == Verdict::failed);
    CHECK(verdict_of(run_small("opt_levels", small), "regression_O1") == Verdict::reproduced);
}

TEST_CASE("with one scaler for both nets their scales do not differ") {
    const Result gan = run_small("gan", {"control=one_scaler", "seeds=1", "steps=4", "channels=2", "train_images=16"});
    CHECK(verdict_of(gan, "two_scales") == Verdict::failed);
}

TEST_CASE("int8 with a range that clips nearly everything loses accuracy") {
    const Result int8 = run_small("int8_inference", {"control=saturate", "seeds=1", "steps=150", "test_images=100"});
    CHECK(verdict_of(int8, "maximum_5") == Verdict::failed);
    CHECK(verdict_of(int8, "entropy_50") == Verdict::failed);
    CHECK(verdict_of(int8, "table_differences") == Verdict::inconsistent);
}

TEST_CASE("the replica's histogram is not moved by three binades where the scale is 4") {
    const BinadeHistogram plain = published_replica(20000, 1, 1);
    CHECK(published_replica(20000, 8, 1).equals_shifted(plain, -3));
    CHECK_FALSE(published_replica(20000, 4, 1).equals_shifted(plain, -3));
    CHECK(median_exponent(published_replica(20000, 8, 1)) == median_exponent(plain) + 3);
}

TEST_CASE("the full digit net has the source's number of parameters, and every classifier runs at odd sizes") {
    Model<float> model(recipe_by_name("fp32"), 1);
    const DigitCnn net(model, {1, 28, 10}, 420, 1000);
    CHECK(model.parameter_count() == 4275210);
    CHECK(count_parameters(model, "conv1") == 420 * 9 + 420);
    for (const std::string& name : classifier_names()) {
        Engine engine("mixed_fp16", "soft:h100");
        Model<float> small(engine.recipe, 1);
        const ImageNet classifier = make_classifier(name, small, {3, 12, 10}, 4);
        Tape<float> tape(engine);
        CHECK(classifier(images_on(tape, Matrix::Zero(2, 3 * 144))).shape() == Shape{2, 10});
    }
    CHECK_THROWS_AS(make_classifier("lenet", model, {3, 12, 10}, 4), std::invalid_argument);
}

TEST_CASE("runs side by side give what runs in turn give, and pass on the first error") {
    std::vector<int> in_turn(20), side_by_side(20);
    run_side_by_side(
        20, false, [&](std::size_t i) { in_turn[i] = static_cast<int>(i * i); }, [](double) {});
    run_side_by_side(
        20, true, [&](std::size_t i) { side_by_side[i] = static_cast<int>(i * i); }, [](double) {});
    CHECK(in_turn == side_by_side);
    CHECK_THROWS_AS(run_side_by_side(
                        4, true,
                        [](std::size_t i) {
                            if (i == 2) throw DataError("two");
                        },
                        [](double) {}),
                    DataError);
}

TEST_CASE("UTF-8 is read strictly") {
    CHECK(code_points("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", "t") ==
          std::vector<std::uint32_t>{'a', 0xE4, 0x20AC, 0x1F600});
    CHECK_THROWS_WITH_AS(code_points("", "t"), "t is empty; give a text to learn from", DataError);
    for (const char* bad :
         {"ab\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xC3(", "\xF8\x88\x80\x80\x80"}) {
        CHECK_THROWS_AS(code_points(bad, "t"), DataError);
    }
    CHECK_THROWS_WITH_AS(code_points("ab\xFF", "t"), "t is not UTF-8 at byte 2; convert it first (iconv -t UTF-8)",
                         DataError);
}

TEST_CASE("in a moving drawing curve k shows frame (k - 1) mod frames, and the last frame is the one at rest") {
    const std::string svg = animated("<svg><g id=\"gnuplot_plot_1a\" ></g><g id=\"gnuplot_plot_2a\" ></g></svg>", 2, 1);
    CHECK(svg.find("plot_1a\"  visibility=\"hidden\">") != std::string::npos);
    CHECK(svg.find("plot_2a\" ><animate") != std::string::npos);
    CHECK(svg.find("values=\"visible;hidden\" keyTimes=\"0;0.3333\"") != std::string::npos);
    CHECK(svg.find("values=\"hidden;visible\" keyTimes=\"0;0.3333\" dur=\"3.0s\"") != std::string::npos);
}

}  // namespace
