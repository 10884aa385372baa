// Functions on arrays against the scalar functions.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "operands.hpp"
#include "softfloat/array/function_tables.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/functions/functions.hpp"

namespace {

using ulp::Context;
using ulp::FloatFormat;
using ulp::Rounding;
using ulp::array::bytes_of;
using ulp::array::Function;
using Words = std::vector<std::uint64_t>;

Function function_at(int index) { return static_cast<Function>(index); }

/// How many elements differ from the scalar function's.
std::size_t mismatches(const FloatFormat& format, Function made, Function claimed, const Context& context,
                       const Words& words) {
    const auto in = ulp::test::to_bytes(words, bytes_of(format));
    std::vector<unsigned char> out(in.size());
    ulp::array::evaluate_words(format, made, in.data(), out.data(), words.size(), context);
    const auto evaluate = ulp::array::scalar_function(claimed);
    std::size_t count = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        Context scalar = scalar_context(context, i);
        const std::uint64_t expected = evaluate(format, words[i], scalar);
        count += expected != ulp::test::word_at(out, bytes_of(format), i) ? 1 : 0;
    }
    return count;
}

Words every_third_code(const FloatFormat& format) {
    Words words;
    const std::uint64_t step = format.storage_bits() <= 8 ? 1 : 3;
    const std::uint64_t end = std::uint64_t{1} << (8 * bytes_of(format));
    for (std::uint64_t code = 0; code < end; code += step) words.push_back(code);
    return words;
}

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
    ulp::hypot_array<ulp::fp16>(x, y, y, {.rounding = Rounding::toward_zero});
    Context toward_zero{.rounding = Rounding::toward_zero};
    CHECK(y[700].bits() == hypot(x[700], pow(x[700], x[700]), toward_zero).bits());
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
