// The two phases of each function keep the error bounds that their rounding decisions rest on, and the judge keeps its
// own.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/functions/function_oracle.hpp"
#include "tests/softfloat/functions/functions_under_test.hpp"

namespace ulp::test {
namespace {

/// Operands from fp32's range: any bit pattern, and as many between -16 and 16.
std::vector<double> sample_operands(const FunctionUnderTest& function, int count) {
    RandomWords random(11);
    std::vector<double> operands;
    while (operands.size() < static_cast<std::size_t>(count)) {
        const auto word = static_cast<std::uint32_t>(random.next());
        const auto integer = static_cast<std::int32_t>(random.next());
        const bool any = operands.size() % 2 == 0;
        const float x = any ? std::bit_cast<float>(word) : std::ldexp(static_cast<float>(integer >> 8), -19);
        if (!std::isfinite(x) || (function.name == "gelu" && x < -14.5F)) continue;
        operands.push_back(x);
    }
    return operands;
}

ulp::Float127 wide_operand(double x) {
    return ulp::Float127{decode<std::uint64_t>(formats::fp64, std::bit_cast<std::uint64_t>(x))};
}

/// The largest error of a quick phase, as a power of two, and where.
struct Worst {
    double log2 = -1000;
    double at = 0;
};
double log2_of(double error) { return error == 0 ? -1000 : std::log2(std::abs(error)); }

/// `quick`: the function's own quick phase or a mutant.
template <class Quick>
Worst worst_quick_error(const FunctionUnderTest& function, int operands, Quick quick) {
    const FunctionOracle judge(function.name);
    Worst worst;
    for (const double x : sample_operands(function, operands)) {
        if (!function.fp32_domain.contains(static_cast<float>(x)) || x == 0) continue;
        const double error = log2_of(judge.quick_relative_error(x, quick(x)));
        if (error > worst.log2) worst = {error, x};
    }
    return worst;
}

TEST_CASE("the accurate phases are within 2^-105 of the judge's 800 bits") {
    for (const FunctionUnderTest& function : functions_under_test) {
        const FunctionOracle judge(function.name);
        double worst = -1000;
        double worst_at = 0;
        for (const double x : sample_operands(function, 400)) {
            if (judge.known_by_rule(x)) continue;
            const ulp::Float127 y = function.accurate(wide_operand(x));
            const double error =
                log2_of(judge.relative_error(x, {y.sign, static_cast<std::uint64_t>(y.significand >> 64),
                                                 static_cast<std::uint64_t>(y.significand), y.exponent}));
            if (error > worst) worst_at = x;
            worst = std::max(worst, error);
        }
        MESSAGE(function.name, ": accurate phase off by at most 2^", worst);
        INFO(function.name, " at ", worst_at);
        CHECK(worst < -105);
    }
}

TEST_CASE("the quick phases are within 2^-43 of the judge, an eighth of what their rounding test allows") {
    for (const FunctionUnderTest& function : functions_under_test) {
        const Worst worst = worst_quick_error(function, 100000, function.quick);
        MESSAGE(function.name, ": quick phase off by at most 2^", worst.log2);
        INFO(function.name, " at ", worst.at);
        CHECK(worst.log2 < -43);
    }
}

TEST_CASE("a quick phase that is off by 2^-42 does not pass for one that is within 2^-43") {
    for (const FunctionUnderTest& function : functions_under_test) {
        const auto off = [&](double x) { return function.quick(x) * (1 + 0x1p-42); };
        INFO(function.name);
        CHECK(worst_quick_error(function, 1000, off).log2 > -43);
    }
}

TEST_CASE("the judge's fp64 is within an eighth of its margin of the judge's long double") {
    for (const FunctionUnderTest& function : functions_under_test) {
        const FunctionOracle judge(function.name);
        double worst = 0;
        for (const double x : sample_operands(function, 100000)) {
            worst = std::max(worst, judge.fp64_error(static_cast<float>(x)));
        }
        MESSAGE(function.name, ": fp64 off by at most ", worst, " units of its last place");
        CHECK(worst > 0);
        CHECK(worst < std::ldexp(1.0, FunctionOracle::fp64_error_bits - 3));
    }
}

TEST_CASE("the judge's long double is within its margin of the judge's 800 bits") {
    for (const FunctionUnderTest& function : functions_under_test) {
        const FunctionOracle judge(function.name);
        double worst = 0;
        for (const double x : sample_operands(function, 400)) worst = std::max(worst, judge.quick_error(x));
        INFO(function.name);
        CHECK(worst < (function.name == "gelu" ? 0x1p14 : 0x1p10));
    }
}

}  // namespace
}  // namespace ulp::test
