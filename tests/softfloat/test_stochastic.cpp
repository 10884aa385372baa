// Stochastic rounding: every random value of a small generator summed up gives the exact expectation.
#include <doctest/doctest.h>

#include <boost/multiprecision/cpp_int.hpp>

#include "softfloat/arithmetic.hpp"
#include "softfloat/array/context.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/text.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"

namespace ulp::test {
namespace {

/// x as a multiple of 2^-400.
Unlimited fixed_point(const Number& x) { return scaled(x, 400); }

/// The sum of `operation`'s results over all random values, in multiples of 2^-400.
template <class Operation>
Unlimited sum_over_random(const Oracle& oracle, int random_bits, Operation operation) {
    Unlimited sum = 0;
    for (std::uint64_t random = 0; random < std::uint64_t{1} << random_bits; ++random) {
        Context context{.rounding = Rounding::stochastic, .random_bits = random_bits, .random = random};
        sum += fixed_point(oracle.number(operation(context)));
    }
    return sum;
}

}  // namespace

TEST_CASE("the mean over all random values is the exact number wherever the random bits reach its last one") {
    // fp16 -> e4m3: 7 bits to drop among the normals, up to 16 where the result is subnormal.
    const Oracle fp16_oracle(formats::fp16);
    const Oracle e4m3_oracle(formats::e4m3);
    const Number largest = e4m3_oracle.number(0x7E);
    int wrong = 0;
    for (std::uint64_t code = 0; code < 0x8000; code += 3) {
        const Number x = fp16_oracle.number(code);
        if (x.is_nan() || x.kind == Number::Kind::infinity || fixed_point(x) > fixed_point(largest)) continue;
        const int random_bits = code >= 0x2400 ? 7 : 10;
        // Multiples of the last random bit's weight, 2^-(9 + random_bits) in the subnormals of e4m3, are exact.
        const Unlimited quantum = Unlimited(1) << (400 - 9 - random_bits);
        if (code < 0x2400 && fixed_point(x) % quantum != 0) continue;
        const Unlimited sum = sum_over_random(e4m3_oracle, random_bits, [&](Context& context) {
            return convert_bits(formats::e4m3, formats::fp16, code, context);
        });
        if (sum != fixed_point(x) << random_bits) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("with fewer random bits the mean is the number cut after them") {
    const Oracle fp32_oracle(formats::fp32);
    const Oracle oracle(formats::fp16);
    RandomWords random(31);
    int wrong = 0;
    for (int i = 0; i < 300; ++i) {
        // Normal fp16 numbers: 13 bits to drop, 6 random bits, so 7 are cut off.
        const std::uint64_t code = 0x38800000 + random.below(0x0F000000);
        Number cut = fp32_oracle.number(code);
        cut.significand &= ~std::int64_t{127};
        const Unlimited sum = sum_over_random(
            oracle, 6, [&](Context& context) { return convert_bits(formats::fp16, formats::fp32, code, context); });
        if (sum != fixed_point(cut) << 6) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("sums, products, quotients and roots round up for exactly their share of the random values") {
    RandomWords random(32);
    for (const FloatFormat& format : {formats::fp16, formats::bf16, formats::fp32, formats::fp64, formats::e4m3}) {
        const Oracle oracle(format);
        const bool wide = format == formats::fp64;
        Mismatches found;
        for (int i = 0; i < 20'000; ++i) {
            const std::uint64_t a = random_code(format, random, random.next());
            const std::uint64_t b = random_code(format, random, a);
            // The oracle squares the place of a root between its neighbours: fp64 leaves room for 8 bits.
            const int bits = wide ? 8 : 1 + static_cast<int>(random.below(32));
            const Context options{.rounding = Rounding::stochastic,
                                  .tininess = Tininess::before_rounding,
                                  .random_bits = bits,
                                  .random = random.below(std::uint64_t{1} << bits)};
            const auto check = [&](const Located& place, auto call) {
                check_call(found, oracle, place, options, {a, b}, call);
            };
            check(oracle.sum<Unlimited>(a, b, bits), [&](Context& c) {
                return wide ? add_bits<UInt128>(format, a, b, c) : add_bits<std::uint64_t>(format, a, b, c);
            });
            check(oracle.product(a, b, bits), [&](Context& c) {
                return wide ? multiply_bits<UInt128>(format, a, b, c) : multiply_bits<std::uint64_t>(format, a, b, c);
            });
            check(oracle.quotient(a, b, bits), [&](Context& c) {
                return wide ? divide_bits<UInt128>(format, a, b, c) : divide_bits<std::uint64_t>(format, a, b, c);
            });
            check(oracle.square_root(a, bits), [&](Context& c) {
                return wide ? sqrt_bits<UInt128>(format, a, c) : sqrt_bits<std::uint64_t>(format, a, c);
            });
        }
        INFO(found.checks << " checks: " << found.first);
        CHECK(found.count == 0);
    }
}

/// Whether the evaluation of `operation` says that random bits are missing.
template <class Operation>
bool refuses(Operation operation) {
    try {
        operation();
    } catch (const std::invalid_argument& error) {
        return std::string_view(error.what()).find("needs 1 to 32 random bits") != std::string_view::npos;
    }
    return false;
}

TEST_CASE("stochastic rounding without random bits is refused by every operation that rounds") {
    for (const int random_bits : {0, -1, 33}) {
        Context none{.rounding = Rounding::stochastic, .random_bits = random_bits, .random = 12345};
        const fp16 x{1.5};
        const fp16 y{0.1};
        CHECK(refuses([&] { convert<e4m3>(y, none); }));
        CHECK(refuses([&] { round_to(formats::e4m3, 0.1F, none); }));
        CHECK(refuses([&] { round_to(formats::e4m3, 0.1, none); }));
        CHECK(refuses([&] { return fp16(0.1, none); }));
        CHECK(refuses([&] { add(x, y, none); }));
        CHECK(refuses([&] { subtract(x, y, none); }));
        CHECK(refuses([&] { multiply(x, y, none); }));
        CHECK(refuses([&] { divide(x, y, none); }));
        CHECK(refuses([&] { sqrt(y, none); }));
        CHECK(refuses([&] { fma(x, y, x, none); }));
        CHECK(refuses([&] { exp(y, none); }));
        CHECK(refuses([&] { pow(x, y, none); }));
        CHECK(refuses([&] { scalb(y, 1, none); }));
        CHECK(refuses([&] { round_to_integral(y, none); }));
        CHECK(refuses([&] { integer_from_bits<int>(formats::fp16, y.bits(), none); }));
        CHECK(refuses([&] { bits_from_integer(formats::fp16, 2049, none); }));
        CHECK(refuses([&] { parse_bits(formats::fp16, "0.1", none); }));
        CHECK(none.flags == 0);
    }
    CHECK(refuses([] { round_to(formats::fp16, 0.1F, Rounding::stochastic); }));
    CHECK(refuses([] { round_to(formats::fp16, 0.1, Rounding::stochastic); }));
}

TEST_CASE("bits above the random bits count for nothing") {
    Context noisy{.rounding = Rounding::stochastic, .random_bits = 4, .random = 0xFFFF0};
    CHECK(convert_bits(formats::fp16, formats::fp32, 0x3F801FFF, noisy) == 0x3C00);
    CHECK(convert_bits(formats::fp16, formats::fp32, 0x3F800000, noisy) == 0x3C00);
}

TEST_CASE("an element's random number depends on seed, stream and position only, and is uniform in its bits") {
    Context context{.random_bits = 8, .seed = 1, .stream = 2};
    std::vector<int> counts(256);
    for (std::size_t i = 0; i < 65'536; ++i) ++counts[random_for(context, i)];
    for (const int count : counts) CHECK((count > 160 && count < 352));  // 256 expected, six deviations of 16
    Context later = context;
    later.first = 1000;
    CHECK(random_for(later, 23) == random_for(context, 1023));
    later = context;
    later.stream = 3;
    int equal = 0;
    for (std::size_t i = 0; i < 4096; ++i) equal += random_for(later, i) == random_for(context, i) ? 1 : 0;
    CHECK(equal < 64);
}

}  // namespace ulp::test
