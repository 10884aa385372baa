#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "experiments/shared/binade_histogram.hpp"
#include "softfloat/round.hpp"

namespace {

using ulp::BinadeHistogram;

BinadeHistogram of(const std::vector<float>& values) {
    BinadeHistogram histogram;
    histogram.add(values);
    return histogram;
}

}  // namespace

TEST_CASE("a bin holds the numbers of its binade, of either sign, subnormals in theirs") {
    const auto h = of({1.0F, -1.5F, 0x1.fffffep0F, 2.0F, 0.5F, 0x1p-149F, 0x1.8p-140F});
    CHECK(h.bins() == std::map<int, std::int64_t>{{-149, 1}, {-140, 1}, {-1, 1}, {0, 3}, {1, 1}});
    CHECK(h.largest_exponent() == 1);
}

TEST_CASE("both zeros count as zero, infinities and NaN in no bin") {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto h = of({0.0F, -0.0F, infinity, std::numeric_limits<float>::quiet_NaN()});
    CHECK(h.zeros() == 2);
    CHECK(h.total() == 4);
    CHECK(h.bins().empty());
    CHECK(h.share(h.zeros()) == 0.5);
}

TEST_CASE(
    "pooled histograms count as one of all values, and a scale moves what fp16 loses of those that are not zero") {
    const std::vector<std::vector<float>> parts = {{0x1p-26F, 0.0F, 3.0F}, {0x1.8p-26F, -0x1p-30F}, {}};
    const auto sum = ulp::pooled(parts, of);
    const auto all = of({0x1p-26F, 0.0F, 3.0F, 0x1.8p-26F, -0x1p-30F});
    CHECK(all.equals_shifted(sum, 0));
    CHECK(sum.lost_in_fp16() == all.lost_in_fp16());
    CHECK(sum.subnormal_in_fp16() == all.subnormal_in_fp16());
    CHECK(sum.lost_share(0) == 0.75);
    CHECK(sum.lost_share(1) == 0.25);
    CHECK(sum.lost_share(5) == 0);
    CHECK(of({0.0F}).lost_share(0) == 0);
}

TEST_CASE("what fp16 loses ends at 2^-25, what it holds as subnormal at 2^-14") {
    CHECK(of({0x1p-25F}).lost_in_fp16() == 1);
    CHECK(of({0x1.000002p-25F}).lost_in_fp16() == 0);
    CHECK(of({0x1.000002p-25F}).subnormal_in_fp16() == 1);
    CHECK(of({0x1.ff8p-15F}).subnormal_in_fp16() == 1);  // the largest subnormal
    CHECK(of({0x1.ffep-15F}).subnormal_in_fp16() == 0);  // rounds up to 2^-14
    CHECK(of({0x1p-14F}).subnormal_in_fp16() == 0);
}

TEST_CASE("what becomes of numbers in fp16 is what rounding says, beside each of its limits and in every binade") {
    std::vector<float> values;
    for (const float limit : {0x1p-25F, 0x1p-14F - 0x1p-25F, 0x1p-14F}) {
        float below = limit;
        float above = limit;
        for (int i = 0; i < 1000; ++i) {
            values.insert(values.end(), {below, -above});
            below = std::nextafter(below, 0.0F);
            above = std::nextafter(above, 1.0F);
        }
    }
    for (int e = -149; e < 128; ++e) values.push_back(std::ldexp(1.375F, e));
    for (const float value : values) {
        const float rounded = std::fabs(ulp::round_to(ulp::formats::fp16, value));
        const auto h = of({value});
        CAPTURE(value);
        CHECK(h.lost_in_fp16() == (rounded == 0 ? 1 : 0));
        CHECK(h.subnormal_in_fp16() == (rounded > 0 && rounded < 0x1p-14F ? 1 : 0));
        CHECK(h.bins() == std::map<int, std::int64_t>{{std::ilogb(value), 1}});
    }
}

TEST_CASE("what lies below a power of two is counted without zeros and without the power itself") {
    const auto h = of({0, 0x1p-30F, -0x1.8p-26F, 0x1p-25F, 1});
    CHECK(h.below(-25) == 2);
    CHECK(h.below(-24) == 3);
    CHECK(h.below(-40) == 0);
    CHECK(h.below(20) == 4);
}

TEST_CASE("a shift is found only where every bin moves by it") {
    const auto plain = of({0, 1, 3, 4});
    CHECK(plain.equals_shifted(of({0, 8, 24, 32}), 3));
    CHECK_FALSE(plain.equals_shifted(of({0, 8, 24, 32}), 2));
    CHECK_FALSE(plain.equals_shifted(of({0, 8, 24, 16}), 3));
    CHECK_FALSE(plain.equals_shifted(of({8, 24, 32}), 3));
}
