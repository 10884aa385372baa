// Functions on arrays against the scalar functions.
#include <doctest/doctest.h>

#include <bit>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "function_cases.hpp"
#include "softfloat/array/function_tables.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/array/kernels/function_kernel.hpp"
#include "softfloat/array/kernels/function_plan.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/vector/dispatch.hpp"
#include "softfloat/vector/vec_portable.hpp"

namespace {

using ulp::Context;
using ulp::FloatFormat;
using ulp::Rounding;
using ulp::array::Function;
using ulp::test::every_third_code;
using ulp::test::function_at;
using ulp::test::many_operands;
using ulp::test::mismatches;
using Words = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("array functions of short formats equal the scalar functions") {
    for (const auto& format :
         {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::e4m3, ulp::formats::e5m2fnuz, ulp::formats::e2m1}) {
        const Words words = every_third_code(format);
        for (int i = 0; i < ulp::array::functions; ++i) {
            CHECK_MESSAGE(mismatches(format, function_at(i), function_at(i), {}, words) == 0, i);
        }
        const Context up{.rounding = Rounding::up, .flush_outputs = true, .saturate = true};
        CHECK(mismatches(format, Function::exp, Function::exp, up, words) == 0);
        CHECK(mismatches(format, Function::tanh, Function::tanh, {.rounding = Rounding::odd}, words) == 0);
    }
}

TEST_CASE("array functions of long formats and by chance equal the scalar functions") {
    for (const auto& format : {ulp::formats::fp32, ulp::formats::tf32}) {
        const Words words = ulp::test::codes(format, 1000);
        for (int i = 0; i < ulp::array::functions; ++i) {
            CHECK_MESSAGE(mismatches(format, function_at(i), function_at(i), {}, words) == 0, i);
            CHECK(mismatches(format, function_at(i), function_at(i), {.rounding = Rounding::down}, words) == 0);
        }
    }
    const Context stochastic{.rounding = Rounding::stochastic, .random_bits = 12, .seed = 4};
    const Words words = ulp::test::codes(ulp::formats::fp16, 2000);
    CHECK(mismatches(ulp::formats::fp16, Function::log, Function::log, stochastic, words) == 0);
}

TEST_CASE("vector functions of fp32 and tf32 equal the scalar functions: every rounding, every set of instructions") {
    const Context options{.flush_inputs = true, .flush_outputs = true, .saturate = true};
    for (const auto& format : {ulp::formats::fp32, ulp::formats::tf32}) {
        const Words words = many_operands(format, 4003);
        for (const ulp::Simd simd : ulp::supported_simd()) {
            for (int i = 0; i < ulp::array::functions; ++i) {
                for (const Rounding rounding : ulp::test::deterministic_roundings()) {
                    CAPTURE(i);
                    CAPTURE(static_cast<int>(rounding));
                    CHECK(mismatches(format, function_at(i), function_at(i), {.rounding = rounding}, words, simd) == 0);
                }
                CHECK(mismatches(format, function_at(i), function_at(i), options, words, simd) == 0);
            }
        }
    }
}

TEST_CASE("vector functions of fp32 equal the scalar functions: 50,000 operands of each") {
    const Words words = many_operands(ulp::formats::fp32, 50000);
    for (int i = 0; i < ulp::array::functions; ++i) {
        CHECK_MESSAGE(mismatches(ulp::formats::fp32, function_at(i), function_at(i), {}, words) == 0, i);
    }
}

/// fp32 results of a kernel that it takes for decided and that are wrong.
std::size_t wrongly_decided(const ulp::array::FunctionPlan& plan, Function function, const Words& words,
                            std::size_t& undecided) {
    const auto& kernels = ulp::kernels_of<ulp::array::FunctionKernels>(ulp::simd_choice());
    std::size_t wrong = 0;
    std::vector<std::uint32_t> in(words.begin(), words.end());
    std::vector<std::uint32_t> out(in.size());
    std::vector<std::uint16_t> places(in.size());
    undecided =
        kernels.kernel[static_cast<std::size_t>(function)](plan, in.data(), out.data(), in.size(), places.data());
    const auto evaluate = ulp::array::scalar_function(function);
    for (std::size_t i = 0, next = 0; i < in.size(); ++i) {
        if (next < undecided && places[next] == i) {
            ++next;
            continue;
        }
        ulp::Context context;
        wrong += evaluate(ulp::formats::fp32, in[i], context) != out[i] ? 1 : 0;
    }
    return wrong;
}

/// exp with a quick phase that is off by 2^-`bits`.
template <int bits>
struct ExpOff : ulp::functions::Exp {
    template <class Real>
    static constexpr Real quick(Real x) {
        const Real y = ulp::functions::Exp::quick(x);
        return y + y * ulp::quick_phase::power_of_two(-bits);
    }
};
/// Results that the kernel and the scalar code with this quick phase decide wrongly.
struct WrongResults {
    std::size_t kernel = 0;
    std::size_t scalar = 0;
};
template <class Function>
WrongResults wrong_with(const std::vector<std::uint32_t>& in) {
    const auto plan = ulp::array::function_plan(ulp::formats::fp32, Rounding::nearest_even);
    std::vector<std::uint32_t> out(in.size());
    std::vector<std::uint16_t> undecided(in.size());
    undecided.resize(ulp::array::evaluate_array<ulp::vec::Portable, Function>(*plan, in.data(), out.data(), in.size(),
                                                                              undecided.data()));
    for (const std::size_t place : undecided) {
        Context context;
        out[place] = static_cast<std::uint32_t>(ulp::exp_bits(ulp::formats::fp32, in[place], context));
    }
    WrongResults wrong;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto x = std::bit_cast<float>(in[i]);
        Context context;
        const std::uint64_t expected =
            ulp::evaluate_bits_accurately<ulp::functions::Exp>(ulp::formats::fp32, in[i], context);
        wrong.kernel += out[i] != expected ? 1 : 0;
        wrong.scalar += std::bit_cast<std::uint32_t>(ulp::evaluate_fp32<Function>(x)) != expected ? 1 : 0;
    }
    return wrong;
}

/// fp32 numbers whose exponential, as a double, lies within that many of the double's last places of a midpoint of
/// fp32.
Words near_midpoints(std::size_t count, std::uint64_t within) {
    Words words;
    for (std::uint32_t word = 0x3D000001; words.size() < count; ++word) {
        const double y = ulp::quick_phase::exp(static_cast<double>(std::bit_cast<float>(word)));
        const std::uint64_t rest = std::bit_cast<std::uint64_t>(y) & 0x1FFFFFFF;
        if (rest > 0x10000000 - within && rest < 0x10000000 + within) words.push_back(word);
    }
    return words;
}

TEST_CASE("the rounding test catches results near a boundary, one that tests another boundary does not") {
    const Words words = near_midpoints(1000, 1 << 15);
    const auto plan = ulp::array::function_plan(ulp::formats::fp32, Rounding::nearest_even);
    REQUIRE(plan);
    std::size_t undecided = 0;
    CHECK(wrongly_decided(*plan, Function::exp, words, undecided) == 0);
    CHECK(undecided > words.size() / 8);
    CHECK(undecided < words.size() / 2);
    ulp::array::FunctionPlan mutant = *plan;
    mutant.from_boundary = ulp::array::quick_margin;  // that of rounding toward zero
    wrongly_decided(mutant, Function::exp, words, undecided);
    CHECK(undecided == 0);
    const Words nearest = near_midpoints(20, 1 << 8);
    CHECK(wrongly_decided(*plan, Function::exp, nearest, undecided) == 0);
    CHECK(undecided == nearest.size());
    mutant = *plan;
    mutant.push_positive = 0;
    CHECK(wrongly_decided(mutant, Function::exp, words, undecided) > words.size() / 4);
}

TEST_CASE("an error bound that is too small is seen: results near a midpoint come out wrong") {
    const Words words = near_midpoints(1000, std::uint64_t{1} << 18);
    const std::vector<std::uint32_t> in(words.begin(), words.end());
    const WrongResults none = wrong_with<ulp::functions::Exp>(in);
    CHECK(none.kernel == 0);
    CHECK(none.scalar == 0);
    // Within the bound of 2^-40, though not of what the phases keep.
    const WrongResults at_bound = wrong_with<ExpOff<41>>(in);
    CHECK(at_bound.kernel == 0);
    CHECK(at_bound.scalar == 0);
    const WrongResults beyond = wrong_with<ExpOff<37>>(in);
    CHECK(beyond.kernel > 10);
    CHECK(beyond.scalar > 10);
}

TEST_CASE("subnormal results are decided in vectors too, on their own grid") {
    Words words;
    for (std::uint32_t word = 0xC2AEAC50; word < 0xC2D00000; word += 97) words.push_back(word);  // exp: 2^-126 and less
    words.resize(20000);
    const auto plan = ulp::array::function_plan(ulp::formats::fp32, Rounding::nearest_even);
    std::size_t undecided = 0;
    CHECK(wrongly_decided(*plan, Function::exp, words, undecided) == 0);
    CHECK(undecided < words.size() / 100);
    ulp::array::FunctionPlan mutant = *plan;
    mutant.to_subnormal_grid *= 2;
    CHECK(wrongly_decided(mutant, Function::exp, words, undecided) > words.size() / 4);
    for (const auto& format : {ulp::formats::fp32, ulp::formats::tf32}) {
        for (std::uint64_t& word : words) word &= ~std::uint64_t{0} << format.padding_bits;
        for (const ulp::Simd simd : ulp::supported_simd()) {
            CHECK(mismatches(format, Function::exp, Function::exp, {}, words, simd) == 0);
            CHECK(mismatches(format, Function::exp, Function::exp, {.flush_outputs = true}, words, simd) == 0);
        }
    }
}

TEST_CASE("the comparison finds another function and another rounding") {
    for (const auto& format : {ulp::formats::fp16, ulp::formats::e5m2, ulp::formats::fp32}) {
        const Words words = ulp::test::codes(format, 1000);
        for (int i = 0; i < ulp::array::functions; ++i) {
            CHECK(mismatches(format, function_at((i + 1) % ulp::array::functions), function_at(i), {}, words) != 0);
        }
    }
    // The table of one rounding is not taken for another's.
    const Words words = every_third_code(ulp::formats::fp16);
    for (const Rounding rounding : ulp::test::deterministic_roundings()) {
        CHECK(mismatches(ulp::formats::fp16, Function::sigmoid, Function::sigmoid, {.rounding = rounding}, words) == 0);
    }
}

TEST_CASE("typed functions, of one operand and of two, in place and from several threads") {
    std::vector<ulp::fp16> x;
    for (int i = 0; i < 1001; ++i) x.push_back(ulp::fp16{static_cast<double>(i - 500) / 64});
    std::vector<std::thread> threads;
    std::vector<std::size_t> wrong(4);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&x, &count = wrong[t]] {
            std::vector<ulp::fp16> y = x;
            ulp::gelu_array<ulp::fp16>(y, y, {.rounding = Rounding::down});
            Context down{.rounding = Rounding::down};
            for (std::size_t i = 0; i < x.size(); ++i) count += y[i].bits() != gelu(x[i], down).bits() ? 1 : 0;
        });
    }
    for (auto& thread : threads) thread.join();
    for (const std::size_t count : wrong) CHECK(count == 0);

    std::vector<ulp::fp16> y(x.size());
    ulp::pow_array<ulp::fp16>(x, x, y);
    CHECK(y[600].bits() == pow(x[600], x[600]).bits());
    ulp::pow_array<ulp::fp16>(x, x, y, {.rounding = Rounding::toward_zero});
    Context toward_zero{.rounding = Rounding::toward_zero};
    CHECK(y[700].bits() == pow(x[700], x[700], toward_zero).bits());
}

TEST_CASE("arrays of different sizes and formats that are too long are refused") {
    std::vector<ulp::bf16> five(5);
    std::vector<ulp::bf16> four(4);
    CHECK_THROWS_WITH_AS(ulp::tanh_array<ulp::bf16>(five, four),
                         "tanh_array: arrays of 5 and 4 elements; give arrays of the same size", std::invalid_argument);
    CHECK_THROWS_AS(ulp::pow_array<ulp::bf16>(five, four, five), std::invalid_argument);
    std::vector<double> doubles(5);
    CHECK_THROWS_AS(ulp::exp_array<double>(doubles, doubles), std::invalid_argument);
}
