// The steps that are shown are the steps that are computed.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/block_steps.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace {

using namespace ulp;

struct Dot {
    std::vector<std::uint32_t> a, b;
    std::uint32_t c;
};

Dot random_dot(const TensorCoreModel& model, DataClass data, std::uint64_t seed) {
    const std::int64_t k = model.instruction_k + model.instruction_k / 2 + 1;  // a second instruction, filled up
    return {random_codes(model.a_format, data, k, seed), random_codes(model.b_format, data, k, seed + 1),
            random_codes(model.accumulator, data, 1, seed + 2).front()};
}

/// The last step's result, with c where the unit adds it late.
std::uint32_t result_of(const TensorCoreModel& model, const std::vector<GroupSteps>& steps, std::uint32_t c) {
    if (model.summation == Summation::fused) return steps.back().result;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool last = i + 1 == steps.size() || steps[i + 1].instruction != steps[i].instruction;
        if (last) c = static_cast<std::uint32_t>(add_nearest(model.accumulator, steps[i].result, c));
    }
    return c;
}

/// Whether a term and what is left of it after the cut are the same number.
bool is_whole(const GroupTerm& each, int unit) {
    ExactSum rest;
    if (each.term.significand != 0) {
        rest.add(each.term.sign, each.term.exponent - each.term.point, each.term.significand);
    }
    const auto magnitude = static_cast<std::uint64_t>(each.aligned < 0 ? -each.aligned : each.aligned);
    if (magnitude != 0) rest.add(each.aligned >= 0, unit, magnitude);
    return rest.value().kind == Kind::zero;
}

/// Groups whose parts do not fit each other.
int wrong_groups(const std::vector<GroupSteps>& steps) {
    int wrong = 0;
    for (const GroupSteps& group : steps) {
        if (group.special) continue;
        const int unit = group.largest - group.model.fraction_bits;
        std::int64_t sum = 0;
        bool right = true;
        for (const GroupTerm& each : group.terms) {
            sum += each.aligned;
            right = right && each.term.exponent <= group.largest && each.cut == !is_whole(each, unit);
        }
        const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
        const std::uint64_t rounded = round_block_sum(group.model, sum < 0, magnitude, unit);
        wrong += right && sum == group.sum && rounded == group.result ? 0 : 1;
    }
    return wrong;
}

/// Each product is a term of one group only.
int repeated_products(const std::vector<GroupSteps>& steps) {
    std::set<std::pair<int, int>> seen;
    int repeated = 0;
    for (const GroupSteps& group : steps) {
        for (const GroupTerm& term : group.terms) {
            repeated += term.k >= 0 && !seen.emplace(group.part, term.k).second ? 1 : 0;
        }
    }
    return repeated;
}

}  // namespace

TEST_CASE("the steps of every fused unit add up to its result, for every class of data") {
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        if (!is_fused(model) || model.variation != GroupVariation{}) continue;
        int wrong = 0;
        int of_mutant = 0;
        for (const DataClass data : all_classes) {
            for (std::uint64_t seed = 0; seed < 20; ++seed) {
                const Dot dot = random_dot(model, data, 100 * seed);
                const auto k = static_cast<std::int64_t>(dot.a.size());
                const auto result = chain_dot(model, dot.a.data(), dot.b.data(), dot.c, k);
                const auto steps = steps_of_dot(model, dot.a, dot.b, dot.c);
                wrong +=
                    repeated_products(steps) + wrong_groups(steps) + (result_of(model, steps, dot.c) == result ? 0 : 1);
                TensorCoreModel mutant = model;
                mutant.fraction_bits = 6;  // few enough to show in an fp16 accumulator
                of_mutant += result_of(mutant, steps_of_dot(mutant, dot.a, dot.b, dot.c), dot.c) == result ? 0 : 1;
            }
        }
        const std::string key = row.key();
        CAPTURE(key);
        CHECK(wrong == 0);
        CHECK(of_mutant > 0);
    }
}

TEST_CASE("what a shorter dot product lacks is filled up with zeros, whatever lies behind its operands") {
    std::vector<std::uint32_t> ones(32, 0x3C00);
    const TensorCoreModel& hopper = unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32");
    for (const std::size_t size : {1U, 3U, 15U, 16U, 17U}) {
        std::ranges::fill(ones, 0x7C00);  // an infinity behind them would show
        std::ranges::fill(ones.begin(), ones.begin() + static_cast<std::ptrdiff_t>(size), 0x3C00);
        const auto part = std::span(std::as_const(ones)).first(size);
        const auto steps = steps_of_dot(hopper, part, part, 0);
        CAPTURE(size);
        CHECK(steps.back().result == std::bit_cast<std::uint32_t>(static_cast<float>(size)));
    }
}

TEST_CASE("steps with scales of blocks fill a shorter dot product up with zeros and scales of 1") {
    const BlockScaledModel& model = unit_model<BlockScaledModel>("sm_120:mma.mxf4.e2m1.fp32");
    constexpr std::uint32_t one = 2, scale_of_1 = 127, scale_of_2 = 128;  // E2M1 and E8M0
    const std::vector<std::uint32_t> ones(24, one);
    const auto steps = steps_of_dot(model, {ones, ones, {scale_of_1}, {scale_of_2}, 0});
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].result == std::bit_cast<std::uint32_t>(48.0F));
    const auto& terms = steps[0].terms;
    CHECK(terms.front().a_scale == scale_of_1);
    CHECK(terms.front().b_scale == scale_of_2);
    REQUIRE(terms.size() > 2);
    CHECK(terms[terms.size() - 2].a == 0);  // before c
    CHECK(terms[terms.size() - 2].a_scale == scale_of_1);
    CHECK(terms[terms.size() - 2].b_scale == scale_of_1);
    CHECK_THROWS_AS((void)steps_of_dot(model, {ones, {one}, {scale_of_1}, {scale_of_2}, 0}), std::invalid_argument);
}

TEST_CASE("steps are refused where there are none") {
    const std::vector<std::uint32_t> two = {0, 0};
    const std::vector<std::uint32_t> three = {0, 0, 0};
    const TensorCoreModel& hopper = unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32");
    CHECK_THROWS_AS((void)steps_of_dot(hopper, two, three, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)steps_of_dot(unit_model<TensorCoreModel>("gfx908:mfma.fp16.fp32"), two, two, 0),
                    std::invalid_argument);
}

TEST_CASE("an exact sum of products of fp64 numbers loses nothing beside the largest") {
    ulp::ExactFp64Sum sum;
    sum.add_product(0x1p400, 0x1p500);
    sum.add_product(-0.75, 0x1p-30);
    sum.add_product(-0x1p500, 0x1p400);
    CHECK(sum.value() == -0x1.8p-31);
}

TEST_CASE("an exact sum keeps a sticky bit of any limb, and is zero without a sign") {
    for (const int exponent : {-320, -257, -200, -129, -100, -70}) {
        CAPTURE(exponent);
        for (const bool sign : {false, true}) {
            ExactSum sum;
            sum.add(sign, 0, 1);
            sum.add(sign, exponent, 1);
            const auto value = sum.value();
            CHECK(value.sign == sign);
            CHECK(value.significand == ((std::uint64_t{1} << 63) | 1));
            CHECK(value.exponent == -63);
            sum.add(!sign, 0, 1);
            sum.add(!sign, exponent, 1);
            CHECK(sum.value().kind == Kind::zero);
            CHECK_FALSE(sum.value().sign);
        }
    }
}
