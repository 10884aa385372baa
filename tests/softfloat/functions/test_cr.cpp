// The fp32 functions that the trainer uses: correctly rounded, and equal to their plain twin.
#include <doctest/doctest.h>

#include "softfloat/text.hpp"
#include "tests/softfloat/functions/check_codes.hpp"
#include "tests/softfloat/functions/functions_under_test.hpp"

namespace ulp::test {
namespace {

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Any bit pattern, or a number between -32 and 32.
float sample(RandomWords& random) {
    const std::uint64_t word = random.next();
    if ((word >> 63) != 0) return std::bit_cast<float>(static_cast<std::uint32_t>(word));
    return static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(word)) >> 8) * 0x1p-18F;
}

TEST_CASE("the fp32 functions are the correctly rounded ones: 60,000 samples each") {
    for (const FunctionUnderTest& function : functions_under_test) {
        const FunctionOracle judge(function.name);
        RandomWords random(1);
        int wrong = 0;
        float first = 0;
        for (int i = 0; i < 60000; ++i) {
            const float x = sample(random);
            if (bits_of(function.cr(x)) == bits_of(judge.nearest_float(x))) continue;
            if (wrong++ == 0) first = x;
        }
        INFO(function.name, " at ", to_hex_float(fp32{first}));
        CHECK(wrong == 0);
    }
}

TEST_CASE(
    "the fp32 functions equal the functions of Float<fp32>: 200,000 samples each, half of them among the smallest") {
    for (const FunctionUnderTest& function : functions_under_test) {
        RandomWords random(2);
        int wrong = 0;
        float first = 0;
        for (int i = 0; i < 200000; ++i) {
            float x = sample(random);
            if (i % 2 == 0) x *= 0x1p-120F;
            Context context;
            if (bits_of(function.cr(x)) == function.bits(formats::fp32, bits_of(x), context)) continue;
            if (wrong++ == 0) first = x;
        }
        INFO(function.name, " at ", to_hex_float(fp32{first}));
        CHECK(wrong == 0);
    }
}

TEST_CASE("fp32 and tf32 functions are correctly rounded in every mode, with the right flags") {
    for (const FloatFormat& format : {formats::fp32, formats::tf32}) {
        const Oracle oracle(format);
        for (const FunctionUnderTest& function : functions_under_test) {
            const FunctionOracle judge(function.name);
            std::vector<std::uint64_t> codes = interesting_codes(format);
            RandomWords random(3);
            for (int i = 0; i < 20000; ++i) {
                codes.push_back(bits_of(sample(random)) >> format.padding_bits << format.padding_bits);
            }
            Mismatches found;
            for (const std::uint64_t code : codes) {
                check_modes(found, oracle, judge.locate(oracle, code), {code},
                            [&](Context& context) { return function.bits(format, code, context); });
            }
            INFO(function.name, ": ", found.first);
            CHECK(found.count == 0);
        }
    }
}

}  // namespace
}  // namespace ulp::test
