#include <doctest/doctest.h>

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
