// What `ulplab show` and `ulplab formats` print, as data.
#include <doctest/doctest.h>

#include <stdexcept>

#include "softfloat/describe.hpp"

namespace ulp::test {
namespace {

Description described(std::string_view format, std::string_view text, Rounding rounding = Rounding::nearest_even) {
    return ulp::describe({format, format_by_name(format), ""}, text, {.rounding = rounding});
}
using Flags = std::vector<std::string>;

}  // namespace

TEST_CASE("0.1 in fp16: bits, fields, neighbours, ulp and error") {
    const Description row = described("fp16", "0.1");
    CHECK(row.value.bits == 0x2E66);
    CHECK(row.value.hex == "2E66");
    CHECK(row.fields == "0 01011 1001100110");
    CHECK(row.exact == "0.0999755859375");
    CHECK(row.hex_float == "0x1.998p-4");
    CHECK(row.number_class == "normal");
    CHECK(row.below->hex == "2E65");
    CHECK(row.above->hex == "2E67");
    CHECK(row.ulp == "6.103515625e-5");
    CHECK(row.error == "-2.44140625e-5");
    CHECK(row.error_in_ulps == "-0.4");
    CHECK(row.flags == Flags{"inexact"});
    CHECK(described("fp16", "0.1", Rounding::up).value.bits == 0x2E67);
    CHECK(described("fp32", "0.1").as_fp64 == "0.10000000149011612");
}

TEST_CASE("signs, subnormals, zeros, ends and specials") {
    CHECK(described("fp16", "-1e-7").number_class == "subnormal");
    CHECK(described("fp16", "-1e-7").error == "-1.920928955078125e-8");
    CHECK(described("fp16", "1e-8").number_class == "zero");
    CHECK(described("fp16", "1e-8").below->decimal == "-6e-8");
    CHECK(described("fp16", "65504").above->decimal == "inf");
    CHECK(described("fp16", "65504").error == "0");
    CHECK(described("fp16", "70000").flags == Flags{"overflow", "inexact"});
    CHECK(!described("fp16", "70000").error);
    CHECK(!described("fp16", "inf").below);
    CHECK(described("fp16", "nan").number_class == "NaN");
    CHECK(!described("e4m3", "448").above);  // the next code is NaN
    CHECK(!described("e2m1", "6").above);
    CHECK(described("e2m1", "9").error == "-3");
    CHECK(described("e2m1", "9").error_in_ulps == "-1.5");
    CHECK(described("e8m0", "3").value.bits == 129);
    CHECK(described("e8m0", "3").error == "1");
}

TEST_CASE("errors of long decimals and hexadecimal floats are exact") {
    CHECK(described("fp64", "0.1").error == "5.5511151231257827021181583404541015625e-18");
    CHECK(described("fp16", "0x1.0008p0").error == "-0.0001220703125");
    CHECK(described("fp16", "1." + std::string(40, '0') + "1").error == "-1e-41");
    CHECK(!described("fp16", "1e-5000").error);
}

TEST_CASE("storage words are shown as they are") {
    CHECK(described("fp16", "bits:7C01").number_class == "signalling NaN");
    CHECK(described("tf32", "bits:3F8CC000").exact == "1.099609375");
    CHECK(described("fp16", "bits:1").value.decimal == "6e-8");
    CHECK(!described("fp16", "bits:3C00").error);
    for (const char* wrong : {"bits:", "bits:12345", "bits:3G00"}) {
        CHECK_THROWS_AS(described("fp16", wrong), std::invalid_argument);
    }
    CHECK_THROWS_AS(described("e2m1", "bits:1F"), std::invalid_argument);
    CHECK_THROWS_AS(described("tf32", "bits:3F8CC001"), std::invalid_argument);
}

TEST_CASE("the table of formats") {
    const auto row = [](std::string_view name) { return ulp::describe({name, format_by_name(name), ""}); };
    CHECK(row("fp16").largest == 65504);
    CHECK(row("fp16").smallest_positive == 0x1p-24);
    CHECK(row("e4m3").largest == 448);
    CHECK(row("e4m3").specials == "NaN");
    CHECK(row("e8m0").smallest_positive == 0x1p-127);
    CHECK(row("e8m0").epsilon == 1);
    CHECK(row("e2m1").specials == "none");
    CHECK(row("bf16").specials == "inf, NaN");
}

}  // namespace ulp::test
