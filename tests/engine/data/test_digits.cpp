#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "engine/data/generated.hpp"
#include "engine/training/schedule.hpp"

namespace {

using namespace ulp;

TEST_CASE("generated digits are the same bytes on every machine") {
    // The published digests: they change only when the generator is changed on purpose.
    CHECK(generated_digits({.count = 500, .side = 28, .seed = 1}).digest() ==
          "5967211023633a17d6b6295bc19eabedc3996c76245d3ec20012807a96eb7515");
    CHECK(generated_digits({.count = 500, .side = 14, .seed = 1}).digest() ==
          "ed8e7b2591934eb637e1ba03caec03fb53ef749b2b8ec500b644c44b3a735691");
}

TEST_CASE("a longer set begins with the shorter one, and seeds and streams differ") {
    const Dataset ten = generated_digits({.count = 10, .side = 14, .seed = 3});
    const Dataset twenty = generated_digits({.count = 20, .side = 14, .seed = 3});
    CHECK(twenty.slice(0, 10).digest() == ten.digest());
    CHECK(generated_digits({.count = 10, .side = 14, .seed = 4}).digest() != ten.digest());
    const DataSplit split = generated_digit_split(10, 10, 14, 3);
    CHECK(split.train.digest() == ten.digest());
    CHECK(split.test.digest() != ten.digest());
}

TEST_CASE("every digit occurs about as often as the others, and is drawn with ink") {
    const Dataset data = generated_digits({.count = 2000, .side = 14, .seed = 1});
    std::array<int, 10> counts{};
    for (const std::uint8_t label : data.labels) ++counts.at(label);
    for (const int count : counts) CHECK(std::abs(count - 200) < 60);  // more than four standard deviations
    int faint = 0;
    for (Index i = 0; i < data.size(); ++i) {
        const auto first = data.pixels.begin() + i * data.features();
        faint += std::count_if(first, first + data.features(), [](int p) { return p > 200; }) < 8 ? 1 : 0;
    }
    CHECK(faint == 0);
}

TEST_CASE("impossible digits are refused") {
    CHECK_THROWS_AS(generated_digits({.count = 1, .side = 7}), std::invalid_argument);
    CHECK_THROWS_AS(generated_digits({.count = -1}), std::invalid_argument);
    CHECK_THROWS_AS(generated_digits({.count = 1, .noise = 256}), std::invalid_argument);
}

TEST_CASE("a shuffle is a permutation that depends on seed and epoch") {
    std::vector<Index> order = shuffled(100, 1, 0);
    CHECK(order != shuffled(100, 1, 1));
    CHECK(order != shuffled(100, 2, 0));
    CHECK(order == shuffled(100, 1, 0));
    std::sort(order.begin(), order.end());
    for (Index i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

}  // namespace
