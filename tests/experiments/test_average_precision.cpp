// Detections judged by hand-made cases, whose results are exact in binary.
#include <doctest/doctest.h>

#include <stdexcept>

#include "engine/nets/shape_detector.hpp"

namespace {

using namespace ulp;

constexpr Area here{0, 0, 4, 4};
constexpr Area there{10, 10, 14, 14};
constexpr Area nowhere{20, 20, 24, 24};

TEST_CASE("overlap is the common part over all that two boxes cover") {
    CHECK(overlap_of(here, here) == 1);
    CHECK(overlap_of(here, there) == 0);
    CHECK(overlap_of(here, {4, 0, 8, 4}) == 0);     // they touch
    CHECK(overlap_of(here, {0, 0, 4, 2}) == 0.5);   // half of it
    CHECK(overlap_of(here, {2, 0, 8, 4}) == 0.25);  // 8 of 32
    CHECK(overlap_of(here, {3, 3, 1, 1}) == 0);     // turned inside out
    CHECK(overlap_of({2, 0, 8, 4}, here) == 0.25);
}

TEST_CASE("average precision is the area under the best precision at each recall or beyond") {
    const std::vector<Truth> two = {{0, 1, here}, {0, 1, there}};
    CHECK(average_precision({{0, 1, 0.9, here}, {0, 1, 0.8, there}}, two, 1, 0.5) == 1);
    CHECK(average_precision({{0, 1, 0.9, here}}, two, 1, 0.5) == 0.5);
    CHECK(average_precision({}, two, 1, 0.5) == 0);
    // Right, wrong, wrong, right: precisions 1 and 2/4.
    const std::vector<Detection> mixed = {
        {0, 1, 0.6, there}, {0, 1, 0.7, nowhere}, {0, 1, 0.9, here}, {0, 1, 0.8, nowhere}};
    CHECK(average_precision(mixed, two, 1, 0.5) == 0.75);
    // Wrong, right, right, right: 1/2, 2/3, 3/4, of which each counts as the last.
    const std::vector<Truth> three = {{0, 1, here}, {0, 1, there}, {1, 1, here}};
    CHECK(average_precision({{0, 1, 0.9, nowhere}, {0, 1, 0.8, here}, {0, 1, 0.7, there}, {1, 1, 0.6, here}}, three, 1,
                            0.5) == 0.75);
}

TEST_CASE("an object is found once, in its own image, by its own label, with enough overlap") {
    const std::vector<Truth> two = {{0, 1, here}, {0, 1, there}};
    CHECK(average_precision({{0, 1, 0.9, here}, {0, 1, 0.8, here}, {0, 1, 0.7, here}, {0, 1, 0.6, there}}, two, 1,
                            0.5) == 0.75);
    CHECK(average_precision({{1, 1, 0.9, here}}, two, 1, 0.5) == 0);
    CHECK(average_precision({{0, 2, 0.9, here}}, two, 1, 0.5) == 0);
    CHECK(average_precision({{0, 1, 0.9, {0, 0, 4, 2}}}, two, 1, 0.5) == 0.5);
    CHECK(average_precision({{0, 1, 0.9, {0, 0, 4, 1.999}}}, two, 1, 0.5) == 0);
}

TEST_CASE("the mean is over the labels that occur") {
    const std::vector<Truth> truths = {{0, 1, here}, {1, 4, here}};
    CHECK(mean_average_precision({{0, 1, 0.9, here}, {0, 3, 0.9, here}}, truths) == 0.5);
    CHECK_THROWS_AS(mean_average_precision({}, {}), std::invalid_argument);
    CHECK_THROWS_AS(average_precision({}, truths, 2, 0.5), std::invalid_argument);
}

TEST_CASE("of boxes that overlap too much the best of an image and label stays, in order of score") {
    const std::vector<Detection> kept = without_duplicates(
        {{0, 1, 0.5, {0, 0, 4, 3}}, {0, 1, 0.9, here}, {0, 2, 0.6, here}, {1, 1, 0.7, here}, {0, 1, 0.8, there}}, 0.45);
    REQUIRE(kept.size() == 4);
    CHECK(kept[0].score == 0.9);
    CHECK(kept[1].score == 0.8);
    CHECK(kept[2].score == 0.7);
    CHECK(kept[3].score == 0.6);
    CHECK(without_duplicates({{0, 1, 0.5, {0, 0, 4, 3}}, {0, 1, 0.9, here}}, 0.75).size() == 2);
}

TEST_CASE("every scene has anchors that look at its shape, and their offsets give its box back") {
    const Scenes scenes = generated_scenes({.count = 40, .side = 16});
    const Scenery scenery{scenes, scenes, anchors_of(16)};
    REQUIRE(scenery.anchors.size() == 32);
    for (Index i = 0; i < 40; ++i) {
        const Targets targets(scenery, {i});
        const Area box = area_of(scenes.boxes[static_cast<std::size_t>(i)]);
        REQUIRE(targets.labels.size() == 32);
        CHECK(!targets.matched.empty());
        for (std::size_t m = 0; m < targets.matched.size(); ++m) {
            const auto anchor = static_cast<std::size_t>(targets.matched[m]);
            CHECK(targets.labels[anchor] == 1 + scenes.images.labels[static_cast<std::size_t>(i)]);
            // The offsets are rounded to fp32.
            CHECK(overlap_of(moved(scenery.anchors[anchor], targets.offsets.data() + 4 * m), box) > 0.999);
        }
    }
}

TEST_CASE("the overlap of pixels is the mean over the kinds that are there") {
    const std::vector<int> kinds = {0, 0, 0, 0, 1, 1, 2, 2};
    CHECK(mean_overlap(kinds, kinds) == 1);
    // kind 0: 3 of 4; kind 1: 1 of 3; kind 2: all; kind 3 is said once, but is not there.
    CHECK(mean_overlap(std::vector<int>{0, 0, 0, 1, 1, 3, 2, 2}, kinds) == (3.0 / 4 + 1.0 / 3 + 1) / 3);
    CHECK(mean_overlap(std::vector<int>{1, 1, 1, 1, 0, 0, 3, 3}, kinds) == 0);
    CHECK_THROWS_AS(mean_overlap(std::vector<int>{1}, kinds), std::invalid_argument);
    CHECK_THROWS_AS(mean_overlap({}, {}), std::invalid_argument);
}

}  // namespace
