// A unit that has all parameters of a row and is still another is found out on random dot products.
#include <doctest/doctest.h>

#include <memory>

#include "softfloat/lab/match_check.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/round.hpp"

namespace {

using ulp::DotUnit;
using ulp::MatchCheck;
using ulp::TensorCoreModel;

const TensorCoreModel& hopper() { return ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32"); }

constexpr std::int64_t blocks = 3500;  // 500 of each class
constexpr std::uint64_t seed = 1;

/// The unit of the row with another dot product, which may ask the row's own.
template <class Dot>
MatchCheck check_of(const Dot& dot) {
    const DotUnit row = ulp::unit_of(hopper());
    DotUnit other = row;
    other.dot = [row, dot](auto a, auto b, std::uint64_t c) { return dot(row.dot, a, b, c); };
    return ulp::check_match(other, hopper(), blocks, seed);
}

bool is_subnormal(std::uint64_t word) {
    const std::uint64_t magnitude = ulp::magnitude_of(ulp::formats::fp32, word);
    return magnitude != 0 && magnitude < 0x00800000;
}

}  // namespace

TEST_CASE("the unit of each floating-point row agrees with the row, and answers alike when asked again") {
    for (const auto& each : ulp::rows_of<ulp::TensorCoreModel>()) {
        CAPTURE(each.row.key());
        const MatchCheck check = ulp::check_match(ulp::unit_of(each.model), each.model, 70, seed);
        CHECK(check.blocks == 70);
        CHECK(check.agrees());
        CHECK_FALSE(check.first.has_value());
    }
}

TEST_CASE("units that differ from a row in what discovery does not ask are contradicted") {
    const auto differs = [](const MatchCheck& check) {
        REQUIRE(check.first.has_value());
        CHECK(check.unstable == 0);
        CHECK(check.first->unit != check.first->model);
        std::int64_t sum = 0;
        for (const std::int64_t count : check.differ_by_class) sum += count;
        CHECK(sum == check.differ);
        return check.differ > 0 && !check.agrees();
    };
    SUBCASE("c is ignored beside products") {
        CHECK(differs(check_of([](const auto& row, auto a, auto b, std::uint64_t c) {
            const std::uint64_t products = row(a, b, 0);
            return ulp::magnitude_of(ulp::formats::fp32, products) == 0 ? row(a, b, c) : products;
        })));
    }
    SUBCASE("a subnormal c is flushed") {
        CHECK(differs(check_of([](const auto& row, auto a, auto b, std::uint64_t c) {
            return row(a, b, is_subnormal(c) ? std::uint64_t{0} : c);
        })));
    }
    SUBCASE("overflow saturates") {
        CHECK(differs(check_of([](const auto& row, auto a, auto b, std::uint64_t c) {
            const std::uint64_t d = row(a, b, c);
            return (d & 0x7FFFFFFF) == 0x7F800000 ? d - 1 : d;
        })));
    }
    SUBCASE("the result is rounded to fp16") {
        CHECK(differs(check_of([](const auto& row, auto a, auto b, std::uint64_t c) {
            ulp::Context context;
            const std::uint64_t d = row(a, b, c);
            const std::uint64_t half = ulp::convert_bits(ulp::formats::fp16, ulp::formats::fp32, d, context);
            return ulp::convert_bits(ulp::formats::fp32, ulp::formats::fp16, half, context);
        })));
    }
    SUBCASE("another generation's policies on zeros and floors") {
        const TensorCoreModel& b200 = ulp::unit_model<ulp::TensorCoreModel>("sm_100:mma.fp16.fp32");
        const DotUnit unit = ulp::unit_of(b200);
        if (b200.policies != hopper().policies) {
            CHECK_FALSE(ulp::check_match(unit, hopper(), 20 * blocks, seed).agrees());
        }
    }
}

TEST_CASE("a unit that answers differently to the same question is called unstable") {
    const auto calls = std::make_shared<int>(0);
    const MatchCheck check = check_of([calls](const auto& row, auto a, auto b, std::uint64_t c) {
        return row(a, b, c) ^ static_cast<std::uint64_t>(++*calls % 11 == 0);
    });
    CHECK(check.unstable > 0);
    CHECK_FALSE(check.agrees());
}

TEST_CASE("full-range codes of every format reach its infinities, NaNs and largest numbers, fp64's too") {
    for (const ulp::FloatFormat& format :
         {ulp::formats::fp16, ulp::formats::fp32, ulp::formats::fp64, ulp::formats::e4m3}) {
        int nans = 0, infinities = 0, above_one = 0;
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const std::uint64_t code = ulp::random_code(format, ulp::DataClass::full_range, ulp::random_word(3, i));
            nans += ulp::is_nan(format, code) ? 1 : 0;
            infinities += ulp::is_infinity(format, code) ? 1 : 0;
            above_one +=
                ulp::magnitude_of(format, code) >> format.fraction_bits >= static_cast<std::uint64_t>(format.bias) ? 1
                                                                                                                   : 0;
        }
        CHECK(nans > 0);
        CHECK((infinities > 0) == format.has_infinity());
        CHECK(above_one > 400);
    }
}
