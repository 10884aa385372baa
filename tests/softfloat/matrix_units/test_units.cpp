// The one table of units: its keys, its finders, and what they refuse.
#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "softfloat/matrix_units/units.hpp"

using ulp::BlockScaledModel;
using ulp::IntegerModel;
using ulp::TensorCoreModel;
using ulp::UnitRow;

TEST_CASE("every row of the table is found by its key, and no key stands twice") {
    std::set<std::string> keys;
    for (const UnitRow& row : ulp::unit_table()) {
        CAPTURE(row.key());
        CHECK(keys.insert(row.key()).second);
        CHECK(&ulp::find_unit(row.key()) == &row);
        CHECK(ulp::unit_or_null(row.key()) == &row);
        CHECK(ulp::find_unit(row.architecture, row.input, row.output, row.instruction).key() == row.key());
    }
    CHECK(ulp::unit_or_null("sm_90:mma.fp12.fp32") == nullptr);
}

TEST_CASE("a unit is found by GPU and formats, whatever it computes") {
    CHECK(ulp::find_unit("h100", "fp16", "fp32").key() == "sm_90:mma.fp16.fp32");
    CHECK(ulp::find_unit("H100", "fp16", "fp32", "wgmma").key() == "sm_90:wgmma.fp16.fp32");
    CHECK(ulp::find_unit("Ampere", "s8", "s32").key() == "sm_80:mma.s8.s32");
    CHECK(ulp::find_unit("a100", "u4_s4", "s32.satfinite").key() == "sm_80:mma.u4_s4.s32.satfinite");
    CHECK(ulp::find_unit("B200", "e2m1", "fp32", "tcgen05.nvf4").key() == "sm_100:tcgen05.nvf4.e2m1.fp32");
    CHECK(ulp::unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32").group_size == 16);
    CHECK(ulp::unit_model<IntegerModel>("sm_75:mma.s8.s32").instruction_k == 16);
    CHECK(ulp::unit_model<BlockScaledModel>("sm_120:mma.mxf4.e2m1.fp32").scale_block == 32);
}

TEST_CASE("what the table does not have is refused, with the nearest rows") {
    CHECK_THROWS_WITH_AS((void)ulp::find_unit("sm_80:mma.s8.s23"), doctest::Contains("sm_80:mma.s8.s32"),
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)ulp::find_unit("V100", "bf16", "fp32"),
                         doctest::Contains("nearest are sm_70:mma.fp16.fp32"), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)ulp::unit_model<TensorCoreModel>("sm_80:mma.s8.s32"),
                         doctest::Contains("another kind of product"), std::invalid_argument);
    CHECK_THROWS_AS((void)ulp::find_unit("Z80", "s8", "s32"), std::invalid_argument);
}

TEST_CASE("what two publications say of a row's floor and zeros is published twice, a floor of fp16 results once") {
    int twice = 0, once = 0;
    for (const UnitRow& row : ulp::unit_table()) {
        if (row.policies != "H" || row.architecture == "sm_90") continue;
        for (const ulp::AspectEvidence& each : row.aspects) {
            if (each.aspect != ulp::Aspect::exponent_floor && each.aspect != ulp::Aspect::zeros) continue;
            CAPTURE(row.key());
            const bool has_two_values = each.aspect == ulp::Aspect::exponent_floor && row.output == "fp16";
            if (each.evidence == ulp::Evidence::published) CHECK(has_two_values);
            if (each.evidence == ulp::Evidence::published_twice) CHECK_FALSE(has_two_values);
            ++(has_two_values ? once : twice);
        }
    }
    CHECK(twice > 0);
    CHECK(once > 0);
}

TEST_CASE("fused rows without block scales have policy set H, those with scales B, units of ordinary operations none") {
    CHECK(ulp::find_unit("sm_90:wgmma.e4m3.fp16").policies == "H");
    CHECK(ulp::find_unit("sm_80:mma.fp16.fp16").policies == "H");
    CHECK(ulp::find_unit("sm_120:mma.nvf4.e2m1.fp32").policies == "B");
    CHECK(ulp::find_unit("sm_90:mma.fp64.fp64").policies.empty());
    CHECK(ulp::find_unit("sm_90:mma.s8.s32").policies.empty());
}
