// Conversions between all formats, named and custom, and the options of a context, against the oracle.
#include <doctest/doctest.h>

#include "softfloat/arithmetic.hpp"
#include "softfloat/names.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"

namespace ulp::test {
namespace {

/// Every code of a small format, interesting and random ones of a large one.
std::vector<std::uint64_t> codes_of(const FloatFormat& format, int random_count) {
    if (format.code_bits() <= 8) return all_codes(format);
    std::vector<std::uint64_t> codes = interesting_codes(format);
    RandomWords random(21);
    for (int i = 0; i < random_count; ++i) codes.push_back(random_code(format, random, random.next()));
    return codes;
}

/// Numbers of `from` on, between and next to the numbers of `to`, and the midpoints: every one of a small format `to`.
std::vector<std::uint64_t> codes_near(const FloatFormat& from, const FloatFormat& to) {
    std::vector<std::uint64_t> codes;
    RandomWords random(22);
    const auto of_to = codes_of(to, 1000);
    for (const std::uint64_t code : of_to) {
        Context context{.rounding = Rounding::toward_zero};
        const std::uint64_t near = convert_bits(from, to, code, context);
        const int dropped = from.fraction_bits - to.fraction_bits;
        const std::uint64_t half = dropped > 0 ? std::uint64_t{1} << (dropped - 1) : 0;
        for (const std::uint64_t step : {std::uint64_t{0}, half, half * 2 - 1, random.next() & (half * 2)}) {
            for (const std::uint64_t off : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
                const std::uint64_t magnitude = ((near >> from.padding_bits) + step + off) & from.magnitude_mask();
                codes.push_back(pack(from, sign_of(from, near), magnitude));
            }
        }
    }
    return codes;
}

void check_conversion(Mismatches& found, const Oracle& to, const Oracle& from, std::uint64_t code) {
    check_modes(found, to, to.located(from.number(code)), {code},
                [&](Context& context) { return convert_bits(to.format(), from.format(), code, context); });
}

Mismatches check_all_conversions(const FloatFormat& to, const FloatFormat& from) {
    const Oracle to_oracle(to);
    const Oracle from_oracle(from);
    Mismatches found;
    for (const std::uint64_t code : codes_of(from, 2000)) check_conversion(found, to_oracle, from_oracle, code);
    for (const std::uint64_t code : codes_near(from, to)) check_conversion(found, to_oracle, from_oracle, code);
    return found;
}

/// A tour of (precision, emin, emax) with narrow, lopsided and wide ones.
std::vector<FloatFormat> custom_formats() {
    return {custom_format(2, 0, 0),     custom_format(2, -1, 5),    custom_format(3, -3, 7),
            custom_format(5, 2, 9),     custom_format(8, -30, -20), custom_format(11, -14, 14),
            custom_format(16, -4, 90),  custom_format(24, -60, 60), custom_format(33, -200, 3),
            custom_format(53, -9, 1023)};
}

}  // namespace

TEST_CASE("conversions between all named formats equal the oracle in every mode") {
    for (const NamedFormat& to : named_formats()) {
        for (const NamedFormat& from : named_formats()) {
            const Mismatches found = check_all_conversions(to.format, from.format);
            INFO(from.name << " to " << to.name << ": " << found.first);
            CHECK(found.count == 0);
        }
    }
}

TEST_CASE("conversions from and to custom formats equal the oracle in every mode") {
    for (const FloatFormat& custom : custom_formats()) {
        for (const FloatFormat& other : {formats::fp64, formats::fp32, formats::fp16, formats::e4m3}) {
            const Mismatches to = check_all_conversions(custom, other);
            const Mismatches from = check_all_conversions(other, custom);
            INFO(name_of(custom) << " and " << name_of(other) << ": " << to.first << "; " << from.first);
            CHECK(to.count + from.count == 0);
        }
    }
}

TEST_CASE("arithmetic in custom formats equals the oracle") {
    RandomWords random(23);
    for (const FloatFormat& format : custom_formats()) {
        const Oracle oracle(format);
        Mismatches found;
        for (int i = 0; i < 2000; ++i) {
            const std::uint64_t a = random_code(format, random, random.next());
            const std::uint64_t b = random_code(format, random, a);
            check_modes(found, oracle, oracle.sum<Unlimited>(a, b), {a, b},
                        [&](Context& context) { return add_bits<UInt128>(format, a, b, context); });
            check_modes(found, oracle, oracle.product(a, b), {a, b},
                        [&](Context& context) { return multiply_bits<UInt128>(format, a, b, context); });
            check_modes(found, oracle, oracle.quotient(a, b), {a, b},
                        [&](Context& context) { return divide_bits<UInt128>(format, a, b, context); });
            check_modes(found, oracle, oracle.square_root(a), {a},
                        [&](Context& context) { return sqrt_bits<UInt128>(format, a, context); });
        }
        INFO(name_of(format) << ": " << found.first);
        CHECK(found.count == 0);
    }
}

TEST_CASE("formats out of range are refused with the reason") {
    CHECK_THROWS_WITH_AS(custom_format(1, -14, 15), "a format's precision must lie in 2..53, not 1",
                         std::invalid_argument);
    CHECK_THROWS_AS(custom_format(54, -14, 15), std::invalid_argument);
    CHECK_THROWS_AS(custom_format(11, -1023, 15), std::invalid_argument);
    CHECK_THROWS_AS(custom_format(11, -14, 1024), std::invalid_argument);
    CHECK_THROWS_AS(custom_format(11, 3, 2), std::invalid_argument);
    CHECK_THROWS_WITH_AS(format_by_name("fp17"),
                         "there is no format 'fp17'; did you mean fp16? choose one of fp64, fp32, tf32, bf16, fp16, "
                         "e5m2, e4m3, e5m2fnuz, "
                         "e4m3fnuz, e3m2, e2m3, e2m1, e8m0, dlfloat16, posit16, e4m3ieee, e3m4, e4m3b11fnuz, hif8, "
                         "posit8, ue5m3, int8, mxint8, e8m0_even, ue4m3, int4",
                         std::invalid_argument);
}

TEST_CASE("flushing and saturation equal the oracle with the same options") {
    RandomWords random(24);
    for (const NamedFormat& named : named_formats()) {
        const FloatFormat& format = named.format;
        if (format == formats::e8m0 || format == formats::fp64) continue;
        const Oracle oracle(format);
        const auto flushed = [&](std::uint64_t code) {
            const Number x = oracle.number(code);
            const bool subnormal = x.kind == Number::Kind::finite && x.significand < std::int64_t{1}
                                                                                         << format.fraction_bits;
            return subnormal ? pack(format, sign_of(format, code), 0) : code;
        };
        Mismatches found;
        for (int i = 0; i < 20'000; ++i) {
            const std::uint64_t a = random_code(format, random, random.next());
            const std::uint64_t b = random_code(format, random, a);
            Context options{.rounding = deterministic_roundings[random.below(6)]};
            options.flush_inputs = random.below(2) != 0;
            options.flush_outputs = random.below(2) != 0;
            options.saturate = random.below(2) != 0;
            if (random.below(2) != 0) options.tininess = Tininess::before_rounding;
            const std::uint64_t x = options.flush_inputs ? flushed(a) : a;
            const std::uint64_t y = options.flush_inputs ? flushed(b) : b;
            check_call(found, oracle, oracle.sum<Wide>(x, y), options, {a, b},
                       [&](Context& c) { return add_bits<std::uint64_t>(format, a, b, c); });
            check_call(found, oracle, oracle.product(x, y), options, {a, b},
                       [&](Context& c) { return multiply_bits<std::uint64_t>(format, a, b, c); });
            check_call(found, oracle, oracle.quotient(x, y), options, {a, b},
                       [&](Context& c) { return divide_bits<std::uint64_t>(format, a, b, c); });
            check_call(found, oracle, oracle.square_root(x), options, {a},
                       [&](Context& c) { return sqrt_bits<std::uint64_t>(format, a, c); });
            check_call(found, oracle, oracle.fused<Wide>(x, y, x), options, {a, b, a},
                       [&](Context& c) { return fma_bits<std::uint64_t>(format, a, b, a, c); });
        }
        INFO(named.name << ": " << found.first);
        CHECK(found.count == 0);
    }
}

TEST_CASE("what a format has no code for") {
    Context context;
    const auto from_fp32 = [&](const FloatFormat& to, std::uint32_t bits, Context options = {}) {
        context = options;
        return convert_bits(to, formats::fp32, bits, context);
    };
    constexpr std::uint32_t infinity = 0x7F800000, minus_infinity = 0xFF800000, nan = 0x7FC00000;
    CHECK(from_fp32(formats::e4m3, infinity) == 0x7F);
    CHECK(from_fp32(formats::e4m3, minus_infinity) == 0xFF);
    CHECK(from_fp32(formats::e4m3, minus_infinity, {.saturate = true}) == 0xFE);
    CHECK(from_fp32(formats::e5m2, infinity, {.saturate = true}) == 0x7B);
    CHECK(from_fp32(formats::e4m3fnuz, infinity) == 0x80);
    CHECK(from_fp32(formats::e4m3fnuz, 0x80000000) == 0x00);
    CHECK(from_fp32(formats::e2m1, infinity) == 0x7);
    CHECK(from_fp32(formats::e2m1, minus_infinity) == 0xF);
    CHECK(from_fp32(formats::e2m1, nan) == 0x7);
    CHECK(context.flags == flag::invalid);
    CHECK(from_fp32(formats::e8m0, 0) == 0x00);
    CHECK(context.flags == (flag::underflow | flag::inexact));
    CHECK(from_fp32(formats::e8m0, 0xBF800000) == 0xFF);
    CHECK(context.flags == flag::invalid);
    CHECK(from_fp32(formats::e8m0, infinity) == 0xFF);
    CHECK(from_fp32(formats::e8m0, 0x3FC00000) == 128);  // 1.5: a tie, to the larger power of two
    CHECK(from_fp32(formats::e8m0, 0x3FBFFFFF) == 127);
}

}  // namespace ulp::test
