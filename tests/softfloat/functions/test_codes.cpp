// Every code of every format of at most 16 bits, every function, every rounding mode, against the judge: bits and
// flags.
#include <doctest/doctest.h>

#include "softfloat/names.hpp"
#include "tests/softfloat/functions/check_codes.hpp"
#include "tests/softfloat/functions/functions_under_test.hpp"

namespace ulp::test {
namespace {

void require_no_mismatch(const FunctionUnderTest& function, const FloatFormat& format) {
    const Mismatches found = CodesCheck(function.name, format).run(function.bits);
    INFO(function.name, " in ", name_of(format), ": ", found.first);
    CHECK(found.checks >= 6 * (std::uint64_t{1} << format.code_bits()));
    CHECK(found.count == 0);
}

TEST_CASE("every function is correctly rounded in every mode for every code of every named format up to 16 bits") {
    for (const NamedFormat& row : named_formats()) {
        if (row.format.storage_bits() > 16) continue;
        for (const FunctionUnderTest& function : functions_under_test) require_no_mismatch(function, row.format);
    }
}

TEST_CASE("the same for custom formats: fp64's exponents, no subnormals, no sign, no infinity") {
    const FloatFormat wide_range = ieee_format(11, 1);  // beyond fp32's range: the accurate phase alone
    const FloatFormat no_sign{.exponent_bits = 6, .fraction_bits = 3, .bias = 31, .has_sign = false};
    const FloatFormat finite_only{.exponent_bits = 5, .fraction_bits = 6, .bias = 20, .specials = Specials::none};
    const FloatFormat fnuz{.exponent_bits = 6, .fraction_bits = 5, .bias = 32, .specials = Specials::negative_zero_nan};
    const FloatFormat scale{.exponent_bits = 8,
                            .fraction_bits = 0,
                            .bias = 127,
                            .specials = Specials::all_ones_nan,
                            .has_sign = false,
                            .has_subnormals = false};
    const FloatFormat cut{.exponent_bits = 6, .fraction_bits = 4, .bias = 31, .unused_exponents = 7};
    for (const FloatFormat& format : {wide_range, no_sign, finite_only, fnuz, scale, cut}) {
        for (const FunctionUnderTest& function : functions_under_test) require_no_mismatch(function, format);
    }
}

TEST_CASE("the accurate phase alone gives the same") {
    const auto check = [](const FunctionUnderTest& function, const FloatFormat& format, std::size_t step) {
        const Mismatches found = CodesCheck(function.name, format, step).run(function.accurately);
        INFO(function.name, " in ", name_of(format), ": ", found.first);
        CHECK(found.count == 0);
    };
    for (const FunctionUnderTest& function : functions_under_test) {
        check(function, formats::e5m2, 1);
        check(function, formats::e4m3, 1);
        check(function, formats::fp16, 61);
        check(function, formats::bf16, 61);
    }
}

TEST_CASE("stochastic rounding, saturation and flushing act on the functions' results") {
    for (const FunctionUnderTest& function : functions_under_test) {
        for (const FloatFormat& format : {formats::e5m2, formats::e4m3, ieee_format(5, 6)}) {
            const Oracle oracle(format);
            const FunctionOracle judge(function.name);
            Mismatches found;
            for (const std::uint64_t code : all_codes(format)) {
                const Located place = judge.locate(oracle, code, 6);
                const auto call = [&](Context& context) { return function.bits(format, code, context); };
                for (std::uint64_t random = 0; random < 64; ++random) {
                    const Context stochastic{.rounding = Rounding::stochastic,
                                             .tininess = Tininess::before_rounding,
                                             .random_bits = 6,
                                             .random = random};
                    check_call(found, oracle, place, stochastic, {code}, call);
                }
                for (const Rounding rounding : deterministic_roundings) {
                    Context options{.rounding = rounding, .flush_outputs = true};
                    check_call(found, oracle, place, options, {code}, call);
                    options = {.rounding = rounding, .saturate = true};
                    check_call(found, oracle, place, options, {code}, call);
                }
            }
            INFO(function.name, " in ", name_of(format), ": ", found.first);
            CHECK(found.count == 0);
        }
    }
}

TEST_CASE("saturation replaces infinities from poles and from infinite operands too, each sign") {
    Context context{.saturate = true};
    CHECK(log_bits(formats::fp16, 0, context) == 0xFBFF);
    CHECK(context.flags == flag::divide_by_zero);
    CHECK(exp_bits(formats::fp16, 0x7C00, context) == 0x7BFF);
    CHECK(cbrt_bits(formats::e5m2, 0xFC, context) == 0xFB);
    CHECK(rsqrt_bits(formats::bf16, 0x8000, context) == 0xFF7F);
}

TEST_CASE("flushed subnormal operands count as zeros") {
    for (const FunctionUnderTest& function : functions_under_test) {
        for (std::uint64_t code = 1; code < 4; ++code) {
            for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{0x80}}) {
                Context flushing{.flush_inputs = true};
                Context plain;
                CHECK(function.bits(formats::e5m2, sign | code, flushing) == function.bits(formats::e5m2, sign, plain));
                CHECK(flushing.flags == plain.flags);
            }
        }
    }
}

}  // namespace
}  // namespace ulp::test
