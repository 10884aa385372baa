// pow and hypot: all pairs of the 8-bit formats, samples of the wider ones, special operands.
#include <doctest/doctest.h>

#include "softfloat/functions/cr.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/names.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"
#include "tests/softfloat/functions/function_oracle.hpp"

namespace ulp::test {
namespace {

struct Pair {
    std::uint64_t a;
    std::uint64_t b;
};

void check_pairs(const FloatFormat& format, const std::vector<Pair>& pairs) {
    const Oracle oracle(format);
    Mismatches pow_found;
    Mismatches hypot_found;
    for (const Pair& pair : pairs) {
        const std::uint64_t a = pair.a;
        const std::uint64_t b = pair.b;
        check_modes(pow_found, oracle, locate_pow(oracle, a, b), {a, b},
                    [&](Context& context) { return pow_bits(format, a, b, context); });
        check_modes(hypot_found, oracle, locate_hypot(oracle, a, b), {a, b},
                    [&](Context& context) { return hypot_bits(format, a, b, context); });
    }
    INFO(name_of(format), " pow: ", pow_found.first);
    INFO(name_of(format), " hypot: ", hypot_found.first);
    CHECK(pow_found.checks >= 6 * pairs.size());
    CHECK(pow_found.count == 0);
    CHECK(hypot_found.count == 0);
}

std::vector<Pair> all_pairs(const std::vector<std::uint64_t>& codes) {
    std::vector<Pair> pairs;
    for (const std::uint64_t a : codes) {
        for (const std::uint64_t b : codes) pairs.push_back({a, b});
    }
    return pairs;
}

TEST_CASE("pow and hypot are correctly rounded in every mode for all pairs of every named format up to 8 bits") {
    for (const NamedFormat& row : named_formats()) {
        if (row.format.storage_bits() <= 8) check_pairs(row.format, all_pairs(all_codes(row.format)));
    }
}

TEST_CASE("saturation and flushing act on pow and hypot") {
    const FloatFormat format = ieee_format(3, 3);
    const Oracle oracle(format);
    const auto flushed = [&](std::uint64_t code) {
        const bool subnormal = (magnitude_of(format, code) >> format.fraction_bits) == 0;
        return subnormal ? code & ~format.magnitude_mask() : code;
    };
    Mismatches found;
    for (const auto& [a, b] : all_pairs(all_codes(format))) {
        const auto power = [&, x = a, y = b](Context& context) { return pow_bits(format, x, y, context); };
        const auto root = [&, x = a, y = b](Context& context) { return hypot_bits(format, x, y, context); };
        const Located power_place = locate_pow(oracle, a, b);
        const Located root_place = locate_hypot(oracle, a, b);
        const Located power_of_flushed = locate_pow(oracle, flushed(a), flushed(b));
        const Located root_of_flushed = locate_hypot(oracle, flushed(a), flushed(b));
        for (const Rounding rounding : deterministic_roundings) {
            for (Context options : {Context{.saturate = true}, Context{.flush_outputs = true}}) {
                options.rounding = rounding;
                check_call(found, oracle, power_place, options, {a, b}, power);
                check_call(found, oracle, root_place, options, {a, b}, root);
            }
            const Context options{.rounding = rounding, .flush_inputs = true};
            check_call(found, oracle, power_of_flushed, options, {a, b}, power);
            check_call(found, oracle, root_of_flushed, options, {a, b}, root);
        }
    }
    INFO(found.first);
    CHECK(found.checks > 500'000);
    CHECK(found.count == 0);
}

TEST_CASE("pow and hypot are correctly rounded in every mode for pairs of interesting operands") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16, formats::tf32, formats::fp32, ieee_format(11, 8)}) {
        check_pairs(format, all_pairs(interesting_codes(format)));
    }
}

TEST_CASE("pow and hypot are correctly rounded in every mode for random pairs") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16, formats::tf32, formats::fp32}) {
        RandomWords random(5);
        std::vector<Pair> pairs;
        for (int i = 0; i < 15000; ++i) {
            const std::uint64_t a = random_code(format, random, 0);
            pairs.push_back({a, random_code(format, random, a)});
        }
        check_pairs(format, pairs);
    }
}

TEST_CASE("pow finds its exact results and ties: squares, cubes, roots, small bases and exponents") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16, formats::fp32}) {
        std::vector<Pair> pairs;
        const auto code = [&](double x) {
            Context context;
            return convert_bits(format, formats::fp64, std::bit_cast<std::uint64_t>(x), context);
        };
        for (int base = 1; base <= 90; ++base) {
            for (const double exponent : {0.25, 0.5, 0.75, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, -0.5, -1.0, -2.0}) {
                for (const double scale : {1.0, 4.0, 0.0625, -1.0, base * 1.0, base * base * 1.0}) {
                    pairs.push_back({code(base * scale), code(exponent)});
                }
            }
        }
        check_pairs(format, pairs);
    }
}

TEST_CASE("pow's special values are those of IEEE 754-2019 section 9.2.1") {
    const auto power = [](double x, double y, unsigned flags) {
        Context context;
        const fp16 result = pow(fp16{x}, fp16{y}, context);
        CHECK(context.flags == flags);
        return static_cast<double>(result);
    };
    const double inf = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(power(nan, 0.0, 0) == 1);
    CHECK(power(nan, -0.0, 0) == 1);
    CHECK(power(1, nan, 0) == 1);
    CHECK(power(-1, inf, 0) == 1);
    CHECK(power(-1, -inf, 0) == 1);
    CHECK(power(0.0, -3, flag::divide_by_zero) == inf);
    CHECK(power(-0.0, -3, flag::divide_by_zero) == -inf);
    CHECK(power(-0.0, -2, flag::divide_by_zero) == inf);
    CHECK(power(-0.0, -inf, 0) == inf);
    CHECK(std::signbit(power(-0.0, 3, 0)));
    CHECK(!std::signbit(power(-0.0, 2, 0)));
    CHECK(power(0.5, -inf, 0) == inf);
    CHECK(power(0.5, inf, 0) == 0);
    CHECK(power(-2, inf, 0) == inf);
    CHECK(power(-inf, 3, 0) == -inf);
    CHECK(std::signbit(power(-inf, -3, 0)));
    CHECK(power(inf, 0.5, 0) == inf);
    CHECK(std::isnan(power(-2, 0.5, flag::invalid)));
    CHECK(std::isnan(power(2, nan, 0)));
    Context signaling;
    CHECK(isnan(pow(fp16::from_bits(0x7C01), fp16{0}, signaling)));
    CHECK(signaling.flags == flag::invalid);
}

TEST_CASE("hypot of an infinity is infinite even beside a NaN, and signs do not matter") {
    const fp16 inf = std::numeric_limits<fp16>::infinity();
    const fp16 nan = std::numeric_limits<fp16>::quiet_NaN();
    CHECK(hypot(-inf, nan) == inf);
    CHECK(hypot(nan, inf) == inf);
    CHECK(isnan(hypot(nan, fp16{1})));
    CHECK(hypot(fp16{-0.0}, fp16{-0.0}).bits() == 0);
    CHECK(hypot(fp16{-5}, fp16{-12}) == fp16{13});
}

TEST_CASE("pow and hypot of fp32 are those of Float<fp32>") {
    RandomWords random(9);
    std::vector<Pair> pairs = all_pairs(interesting_codes(formats::fp32));
    for (int i = 0; i < 100000; ++i) {
        const std::uint64_t a = random_code(formats::fp32, random, 0x3F800000);
        pairs.push_back({a, random_code(formats::fp32, random, i % 2 == 0 ? a : 0x40400000)});
        if (i % 4 == 0) pairs.back().a &= 0x7FFF0000;  // short significands: exact results and ties
        if (i % 8 == 0) pairs.back().b &= 0xFFE00000;
    }
    const auto as_float = [](std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); };
    int wrong = 0;
    for (const auto& [a, b] : pairs) {
        Context context;
        const float power = cr::pow(as_float(a), as_float(b));
        const float root = cr::hypot(as_float(a), as_float(b));
        if (std::bit_cast<std::uint32_t>(power) != pow_bits(formats::fp32, a, b, context)) ++wrong;
        if (std::bit_cast<std::uint32_t>(root) != hypot_bits(formats::fp32, a, b, context)) ++wrong;
    }
    CHECK(wrong == 0);
    static_assert(cr::pow(3.0F, 4.0F) == 81.0F && cr::pow(2.0F, 0.5F) == 0x1.6a09e6p0F);
    static_assert(cr::hypot(0x1.8p126F, -0x1p127F) == 0x1.4p127F && cr::pow(-2.0F, 3.0F) == -8.0F);
}

}  // namespace
}  // namespace ulp::test
