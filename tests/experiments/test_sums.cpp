#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "experiments/shared/sums.hpp"

using namespace ulp;

TEST_CASE("the two orders differ where rounding does") {
    const auto sixteens = copies<fp16>(4096, 16);
    CHECK(sum_one_by_one<fp16>(sixteens).bits() == fp16(32768).bits());
    CHECK(sum_pairwise<fp16>(sixteens).bits() == std::numeric_limits<fp16>::infinity().bits());
}

TEST_CASE("a pairwise sum adds every value once, whatever the length") {
    for (std::size_t n = 0; n < 40; ++n) {
        std::vector<fp32> values;
        for (std::size_t i = 0; i < n; ++i) values.push_back(fp32(1 << (i % 20)));
        CHECK(sum_pairwise<fp32>(values).bits() == sum_one_by_one<fp32>(values).bits());  // exact in fp32
    }
}

TEST_CASE("squares that add up to less than fp16's end leave it in their written order, and larger ones stay in it") {
    // Half of the values lie d above the mean and half d below; only the squares' sums are rounded.
    const auto squares = [](std::vector<double> differences) {
        std::vector<fp16> values;
        for (const double d : differences) values.insert(values.end(), {fp16(d), fp16(-d)});
        double exact = 0;
        for (const fp16 v : values) exact += static_cast<double>(v) * static_cast<double>(v);
        return std::pair{exact, static_cast<double>(squares_one_by_one<fp16>(values))};
    };
    // Two squares of 180 are 64800, where the numbers of fp16 lie 32 apart: 18 counts as 32.
    std::vector<double> up = {180};
    for (int i = 0; i < 15; ++i) up.push_back(std::sqrt(18.0));
    const auto [below, gone] = squares(up);
    CHECK(below < 65504);
    CHECK(std::isinf(gone));
    // 14 counts as nothing.
    std::vector<double> down = {180};
    for (int i = 0; i < 40; ++i) down.push_back(std::sqrt(14.0));
    const auto [beyond, left] = squares(down);
    CHECK(beyond > 65520);
    CHECK(left == 64800);
}
