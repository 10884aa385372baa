// The functions that steps take: softfloat's, in each of the three ways.
#include <doctest/doctest.h>

#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "softfloat/functions/functions.hpp"

namespace {

using namespace ulp;
using Wide = boost::multiprecision::cpp_bin_float_50;
using Bits = std::uint64_t (*)(const FloatFormat&, std::uint64_t, Context&);

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

struct Function {
    const char* name;
    float (*fp32)(float);
    float (*narrow)(const step::Target&, float);
    double (*fp64)(double);
    Bits plain;
    Wide (*wide)(const Wide&);
    double low, high;  // the operands compared in fp64
};
const Function functions_of_steps[] = {
    {"exp", step::exp, step::exp, step::exp, exp_bits, [](const Wide& x) -> Wide { return exp(x); }, -600, 600},
    {"log", step::log, step::log, step::log, log_bits, [](const Wide& x) -> Wide { return log(x); }, 1e-30, 1e30},
    {"log1p", step::log1p, step::log1p, step::log1p, log1p_bits, [](const Wide& x) -> Wide { return log1p(x); }, -0.999,
     30},
    {"tanh", step::tanh, step::tanh, step::tanh, tanh_bits, [](const Wide& x) -> Wide { return tanh(x); }, -22, 22},
    {"sigmoid", step::sigmoid, step::sigmoid, step::sigmoid, sigmoid_bits,
     [](const Wide& x) -> Wide { return 1 / (1 + exp(-x)); }, -60, 60},
    {"erf", step::erf, step::erf, step::erf, erf_bits, [](const Wide& x) -> Wide { return boost::math::erf(x); }, -6,
     6},
};

TEST_CASE("functions of fp32 steps have the bits of softfloat's functions") {
    for (const Function& f : functions_of_steps) {
        CAPTURE(f.name);
        Random random(5, f.name);
        int wrong = 0;
        for (int i = 0; i < 20000; ++i) {
            // Any pattern, and ordinary numbers.
            const auto pattern = static_cast<std::uint32_t>(random.next());
            const float x = i % 2 == 0 ? std::bit_cast<float>(pattern) : static_cast<float>(4 * random.normal());
            Context context;
            const std::uint64_t expected = f.plain(formats::fp32, bits(x), context);
            wrong += bits(f.fp32(x)) == expected ? 0 : 1;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("functions of steps take arrays with the bits of one operand after the other") {
    Random random(6, "arrays");
    std::vector<float> x(1000);
    for (float& v : x) v = static_cast<float>(8 * random.normal());
    const std::vector<double> wide(x.begin(), x.end());
    const auto same = [](const auto& s, const auto& in) {
        int wrong = 0;
#define ULPLAB_FUNCTION(name, Function)                                   \
    {                                                                     \
        auto out = in;                                                    \
        s.name(std::span(std::as_const(out)), std::span(out));            \
        for (std::size_t i = 0; i < in.size(); ++i) {                     \
            const auto one = s.name(in[i]);                               \
            wrong += std::memcmp(&one, &out[i], sizeof one) == 0 ? 0 : 1; \
        }                                                                 \
    }
        ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION
        return wrong;
    };
    with_steps<float>(formats::fp32, [&](const auto& s) { CHECK(same(s, x) == 0); });
    with_steps<float>(formats::bf16, [&](const auto& s) {
        std::vector<float> on_grid = x;
        round_all(formats::bf16, std::span(on_grid));
        CHECK(same(s, on_grid) == 0);
    });
    with_steps<double>(formats::fp64, [&](const auto& s) { CHECK(same(s, wide) == 0); });
}

TEST_CASE("functions of steps in 16 bits have the bits of softfloat's functions, for every operand") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16}) {
        for (const bool flush : {false, true}) {
            const step::Target target(format, {.flush_outputs = flush});
            for (const Function& f : functions_of_steps) {
                CAPTURE(f.name);
                int wrong = 0;
                for (std::uint64_t code = 0; code < 65536; ++code) {
                    Context exact;
                    const std::uint64_t word = convert_bits(formats::fp32, format, code, exact);
                    Context context{.flush_outputs = flush};
                    const std::uint64_t result = f.plain(format, code, context);
                    const std::uint64_t expected = convert_bits(formats::fp32, format, result, exact);
                    const float given = f.narrow(target, std::bit_cast<float>(static_cast<std::uint32_t>(word)));
                    wrong += bits(given) == expected ? 0 : 1;
                }
                CHECK(wrong == 0);
            }
        }
    }
}

TEST_CASE("functions of fp64 steps are within 2^-40, against Boost with 50 digits") {
    for (const Function& f : functions_of_steps) {
        CAPTURE(f.name);
        Random random(6, f.name);
        double worst = 0;
        for (int i = 0; i < 2000; ++i) {
            const double x = random.uniform(f.low, f.high);
            const Wide expected = f.wide(Wide(x));
            worst = std::max(worst, static_cast<double>(abs((Wide(f.fp64(x)) - expected) / expected)));
        }
        MESSAGE(f.name << ": largest relative error found " << worst);
        CHECK(worst < 0x1p-40);
    }
}

TEST_CASE("functions of fp64 steps at the ends") {
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(step::exp(inf) == inf);
    CHECK(step::exp(-inf) == 0);
    CHECK(step::exp(0.0) == 1);
    CHECK(step::log(0.0) == -inf);
    CHECK(step::log(inf) == inf);
    CHECK(step::log(1.0) == 0);
    CHECK(std::isnan(step::log(-1.0)));
    CHECK(step::tanh(-inf) == -1);
    CHECK(std::signbit(step::tanh(-0.0)));
    CHECK(step::sigmoid(-inf) == 0);
    CHECK(step::sigmoid(inf) == 1);
    CHECK(step::erf(inf) == 1);
    for (const Function& f : functions_of_steps) CHECK(std::isnan(f.fp64(std::numeric_limits<double>::quiet_NaN())));
}

/// A step of every kind, as softfloat's operations have it, with what a Context says of subnormals.
TEST_CASE("steps that flush subnormals equal softfloat's operations with the same context") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16, formats::fp32}) {
        for (const Context& how : {Context{.flush_inputs = true}, Context{.flush_outputs = true},
                                   Context{.flush_inputs = true, .flush_outputs = true}}) {
            CAPTURE(format.fraction_bits);
            CAPTURE(how.flush_inputs);
            const RoundedSteps steps(ComputeFormat{format, how});
            Random random(9);
            int wrong = 0;
            int flushed = 0;
            // Near 2^emin, where it matters: exponents within eight of it.
            const auto number = [&] {
                const double x =
                    random.uniform(-2, 2) * std::ldexp(1.0, format.emin() + static_cast<int>(random.between(-8, 8)));
                return round_to(format, static_cast<float>(x));
            };
            const auto code = [&](float x) {
                Context exact;
                return convert_bits(format, formats::fp32, bits(x), exact);
            };
            const auto check = [&](float given, const auto& operation, float a, float b) {
                Context context = how;
                Context keeps;
                const std::uint64_t expected = operation(code(a), code(b), context);
                wrong += code(given) == expected ? 0 : 1;
                flushed += expected == operation(code(a), code(b), keeps) ? 0 : 1;
            };
            const auto of = [&](const auto& operation) {
                return [&format, operation](std::uint64_t a, std::uint64_t b, Context& context) {
                    return operation(format, a, b, context);
                };
            };
            const float third = round_to(format, 1.0F / 3);
            for (int i = 0; i < 5000; ++i) {
                const float a = number();
                const float b = number();
                check(steps.add(a, b), of([](auto&&... x) { return add_bits<std::uint64_t>(x...); }), a, b);
                check(steps.sub(a, b), of([](auto&&... x) { return subtract_bits<std::uint64_t>(x...); }), a, b);
                check(steps.mul(a, third), of([](auto&&... x) { return multiply_bits<std::uint64_t>(x...); }), a,
                      third);
                check(steps.div(a, 3), of([](auto&&... x) { return divide_bits<std::uint64_t>(x...); }), a, 3);
            }
            CHECK(wrong == 0);
            CHECK(flushed > 100);
        }
    }
}

}  // namespace
