// What the experiments on whole systems are built from.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "engine/nets/nets.hpp"
#include "engine/training/images.hpp"
#include "experiments/framework/figures.hpp"
#include "experiments/framework/long_work.hpp"
#include "experiments/shared/utf8.hpp"
#include "experiments/training/comparison.hpp"
#include "experiments/training/watched_nets.hpp"
#include "softfloat/errors.hpp"

namespace {

using namespace ulp;

TEST_CASE("the replica's histogram is not moved by three binades where the scale is 4") {
    const BinadeHistogram plain = published_replica(20000, 1, 1);
    CHECK(published_replica(20000, 8, 1).equals_shifted(plain, -3));
    CHECK_FALSE(published_replica(20000, 4, 1).equals_shifted(plain, -3));
    CHECK(median_exponent(published_replica(20000, 8, 1)).value() == median_exponent(plain).value() + 3);
}

TEST_CASE("nets have the parameters that their descriptions count, the source's digit net among them") {
    Model model(recipe_by_name("fp32"), 1);
    const Layers full = digit_cnn(420, 1000);
    const Net net(model, full, {1, 28, 28}, 10);
    CHECK(model.parameter_count() == 4275210);
    CHECK(parameters_of(full, {1, 28, 28}, 10) == 4275210);
    CHECK(parameters_of(full.front(), {1, 28, 28}, 10) == 420 * 9 + 420);
    CHECK_THROWS_AS(Net(model, full, {784}, 10), std::invalid_argument);
    for (const NamedNet& named : named_nets()) {
        if (named.task != "images") continue;
        Engine engine("mixed_fp16", "soft:h100");
        Model small(engine.recipe, 1);
        const Layers layers = named.layers(4);
        const Net classifier(small, layers, {3, 12, 12}, 10);
        CHECK(parameters_of(layers, {3, 12, 12}, 10) == small.parameter_count());
        Tape tape(engine);
        CHECK(classifier(images_on(tape, Matrix::Zero(2, 3 * 144))).shape() == Shape{2, 10});
    }
    // As with CIFAR's images and ways around of 1 x 1, and here a constant for each of 784 channels.
    CHECK(parameters_of(net_by_name("resnet20").layers(16), {3, 32, 32}, 10) == 272474 + 784);
    Model block(recipe_by_name("fp32"), 1);
    const Net transformer(block, image_transformer(1), {1, 14, 14}, 10);
    CHECK(parameters_of(image_transformer(1), {1, 14, 14}, 10) == block.parameter_count());
    CHECK_THROWS_WITH_AS(
        (void)net_by_name("lenet"),
        "no net \"lenet\"; there are mlp, cnn, plain, vgg, inception, residual, resnet20, lstm, transformer, gpt, "
        "seq2seq, encoder_decoder",
        std::invalid_argument);
}

TEST_CASE("runs side by side give what runs in turn give, and pass on the first error") {
    std::vector<int> in_turn(20), side_by_side(20);
    run_side_by_side(20, false, [&](std::size_t i) { in_turn[i] = static_cast<int>(i * i); });
    run_side_by_side(20, true, [&](std::size_t i) { side_by_side[i] = static_cast<int>(i * i); });
    CHECK(in_turn == side_by_side);
    CHECK_THROWS_AS(run_side_by_side(4, true,
                                     [](std::size_t i) {
                                         if (i == 2) throw DataError("two");
                                     }),
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
