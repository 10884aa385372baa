// Rounding of fp32 arrays: every set of instructions against the scalar function, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "operands.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/round.hpp"
#include "tests/softfloat/control_register.hpp"

namespace {

using ulp::Context;
using ulp::FloatFormat;
using ulp::Rounding;
using ulp::Simd;
using ulp::test::array_formats;

const std::vector<float> all_operands = ulp::test::fp32_operands();

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// What the scalar function makes of each operand.
std::vector<float> round_each(const FloatFormat& format, const Context& context, std::span<const float> operands) {
    std::vector<float> rounded(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
        Context scalar = scalar_context(context, i);
        rounded[i] = round_to(format, operands[i], scalar);
    }
    return rounded;
}

struct Comparison {
    std::size_t mismatches = 0;
    std::size_t first = 0;
};
Comparison compare(std::span<const float> expected, std::span<const float> rounded) {
    Comparison comparison;
    for (std::size_t i = expected.size(); i-- > 0;) {
        if (bits(expected[i]) == bits(rounded[i])) continue;
        ++comparison.mismatches;
        comparison.first = i;
    }
    return comparison;
}

std::string describe(float operand, float expected, float rounded) {
    std::array<char, 100> text{};
    std::snprintf(text.data(), text.size(), "%a (%08X) became %08X, expected %08X", static_cast<double>(operand),
                  bits(operand), bits(rounded), bits(expected));
    return text.data();
}

void check_all_formats(const Context& context, std::span<const float> operands) {
    std::vector<float> rounded(operands.size());
    for (const auto& tested : array_formats()) {
        const FloatFormat& format = tested.format;
        const std::vector<float> expected = round_each(format, context, operands);
        for (const Simd simd : ulp::supported_simd()) {
            round_array(format, operands, rounded, context, simd);
            const Comparison comparison = compare(expected, rounded);
            const std::size_t first = comparison.first;
            CAPTURE(describe(operands[first], expected[first], rounded[first]));
            CAPTURE(name_of(simd));
            CAPTURE(ulp::test::name_of(context.rounding));
            CHECK_MESSAGE(comparison.mismatches == 0, tested.name);
        }
    }
}

}  // namespace

TEST_CASE("round_array equals round_to in every format, deterministic rounding and set of instructions") {
    for (const Rounding rounding : ulp::test::deterministic_roundings()) {
        check_all_formats({.rounding = rounding}, all_operands);
    }
}

TEST_CASE("round_array equals round_to in stochastic rounding, for any number of random bits") {
    for (const int random_bits : {1, 8, 13, 24, 32}) {
        check_all_formats({.rounding = Rounding::stochastic, .random_bits = random_bits, .seed = 42, .first = 3},
                          all_operands);
    }
}

#if defined(ULPLAB_HAS_CONTROL_REGISTER)
TEST_CASE("the caller's rounding, flushing of subnormals and flags neither change round_array nor are changed") {
    const FloatFormat format{.exponent_bits = 7, .fraction_bits = 3, .bias = 117};
    const Context context{.rounding = Rounding::stochastic, .random_bits = 32, .seed = 5};
    const auto operands = std::span<const float>(all_operands);
    const std::vector<float> expected = round_each(format, context, operands);
    const std::uint64_t saved = ulp::test::control_register();
    for (const Simd simd : ulp::supported_simd()) {
        std::vector<float> rounded(operands.size());
        ulp::test::set_control_register(ulp::test::hostile);
        round_array(format, operands, rounded, context, simd);
        const std::uint64_t after = ulp::test::control_register();
        ulp::test::set_control_register(saved);
        CHECK(compare(expected, rounded).mismatches == 0);
        CHECK(after == ulp::test::hostile);
    }
}
#endif

TEST_CASE("round_array flushes and saturates as round_to does") {
    const auto operands = std::span<const float>(all_operands).first(all_operands.size() / 2);
    for (const Rounding rounding : ulp::test::deterministic_roundings()) {
        check_all_formats({.rounding = rounding, .flush_inputs = true, .saturate = true}, operands);
        check_all_formats({.rounding = rounding, .flush_outputs = true}, operands);
        check_all_formats({.rounding = rounding, .tininess = ulp::Tininess::before_rounding, .flush_outputs = true},
                          operands);
    }
    for (const int random_bits : {1, 5, 32}) {
        Context context{.rounding = Rounding::stochastic, .random_bits = random_bits};
        context.saturate = context.flush_outputs = true;
        check_all_formats(context, operands);
        context.tininess = ulp::Tininess::before_rounding;
        context.flush_inputs = true;
        check_all_formats(context, operands);
    }
}

TEST_CASE("round_array rounds fp64 once, in every format and rounding, and with every option") {
    std::vector<double> operands;
    ulp::test::Words words(17);
    for (std::size_t i = 0; i < all_operands.size(); i += 9) {
        const auto noise = std::bit_cast<double>((words.next() & 0x1FFFFFFF) | std::bit_cast<std::uint64_t>(1.0));
        operands.push_back(static_cast<double>(all_operands[i]) * (i % 2 == 0 ? noise : 1.0));
        operands.push_back(std::bit_cast<double>(words.next()));
        operands.push_back(std::bit_cast<double>(words.next() >> 13));
    }
    std::vector<Context> contexts;
    auto roundings = ulp::test::deterministic_roundings();
    roundings.insert(roundings.end(), {Rounding::stochastic, Rounding::stochastic});
    for (const Rounding rounding : roundings) {
        Context context{.rounding = rounding, .random_bits = contexts.size() % 2 == 0 ? 9 : 32, .seed = 6};
        context.first = 1;
        contexts.push_back(context);
        context.saturate = context.flush_outputs = true;
        contexts.push_back(context);
        context.flush_inputs = true;
        context.tininess = ulp::Tininess::before_rounding;
        contexts.push_back(context);
    }
    std::vector<double> rounded(operands.size());
    for (const auto& tested : array_formats()) {
        for (const Context& context : contexts) {
            std::vector<double> expected;
            for (std::size_t i = 0; i < operands.size(); ++i) {
                Context scalar = scalar_context(context, i);
                expected.push_back(round_to(tested.format, operands[i], scalar));
            }
            for (const Simd simd : ulp::supported_simd()) {
                round_array(tested.format, operands, rounded, context, simd);
                std::size_t mismatches = 0;
                for (std::size_t i = 0; i < operands.size(); ++i) {
                    mismatches += std::bit_cast<std::uint64_t>(expected[i]) != std::bit_cast<std::uint64_t>(rounded[i]);
                }
                CAPTURE(name_of(simd));
                CAPTURE(ulp::test::name_of(context.rounding));
                CHECK_MESSAGE(mismatches == 0, tested.name);
            }
        }
    }
}

TEST_CASE("round_array works in place, on every length and alignment, and touches nothing beside") {
    const auto operands = std::span<const float>(all_operands).last(200);
    for (const Simd simd : ulp::supported_simd()) {
        for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic}) {
            std::size_t mismatches = 0;
            for (std::size_t begin = 0; begin < 5; ++begin) {
                for (std::size_t size = 0; size < 150; ++size) {
                    const Context context{.rounding = rounding, .random_bits = 32, .seed = 5, .first = size};
                    std::vector<float> values(operands.begin(), operands.end());
                    std::vector<float> expected = values;
                    const auto piece = std::span(values).subspan(begin, size);
                    std::ranges::copy(round_each(ulp::formats::fp16, context, piece),
                                      expected.begin() + static_cast<std::ptrdiff_t>(begin));
                    round_array(ulp::formats::fp16, piece, context, simd);
                    mismatches += compare(expected, values).mismatches;
                }
            }
            CHECK_MESSAGE(mismatches == 0, name_of(simd));
        }
    }
}

TEST_CASE("stochastic rounding of pieces equals that of the whole, also where the counter carries") {
    const auto operands = std::span<const float>(all_operands).last(3000);
    for (const std::uint64_t first : {std::uint64_t{0}, (std::uint64_t{1} << 34) - 1000, ~std::uint64_t{0} / 2}) {
        Context context{.rounding = Rounding::stochastic, .random_bits = 32, .seed = 9, .stream = 77, .first = first};
        const std::vector<float> whole = round_each(ulp::formats::bf16, context, operands);
        for (const Simd simd : ulp::supported_simd()) {
            std::vector<float> at_once(operands.begin(), operands.end());
            context.first = first;
            round_array(ulp::formats::bf16, std::span(at_once), context, simd);
            CHECK_MESSAGE(compare(whole, at_once).mismatches == 0, name_of(simd));
            std::vector<float> pieces(operands.begin(), operands.end());
            for (std::size_t begin = 0, size = 1; begin < pieces.size(); begin += size, size = (size * 7 + 3) % 211) {
                size = std::min(size, pieces.size() - begin);
                context.first = first + begin;
                round_array(ulp::formats::bf16, std::span(pieces).subspan(begin, size), context, simd);
            }
            CHECK_MESSAGE(compare(whole, pieces).mismatches == 0, name_of(simd));
        }
    }
}

TEST_CASE("the comparison finds a wrong rounding, a wrong format and a wrong seed on every path") {
    const auto& operands = all_operands;
    std::vector<float> rounded(operands.size());
    const auto roundings = ulp::test::deterministic_roundings();
    const Context stochastic{.rounding = Rounding::stochastic, .random_bits = 32, .seed = 1};
    for (const auto& format : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::e4m3}) {
        std::vector<std::vector<float>> expected;
        for (const Rounding rounding : roundings)
            expected.push_back(round_each(format, {.rounding = rounding}, operands));
        const auto expected_stochastic = round_each(format, stochastic, operands);
        for (const Simd simd : ulp::supported_simd()) {
            for (std::size_t made = 0; made < roundings.size(); ++made) {
                round_array(format, operands, rounded, {.rounding = roundings[made]}, simd);
                for (std::size_t claimed = 0; claimed < roundings.size(); ++claimed) {
                    CHECK((compare(expected[claimed], rounded).mismatches == 0) == (made == claimed));
                }
                round_array(ulp::formats::e5m2, operands, rounded, {.rounding = roundings[made]}, simd);
                CHECK(compare(expected[made], rounded).mismatches != 0);
            }
            for (const Context& wrong :
                 {Context{.rounding = Rounding::stochastic, .random_bits = 32, .seed = 2},
                  Context{.rounding = Rounding::stochastic, .random_bits = 32, .seed = 1, .stream = 1},
                  Context{.rounding = Rounding::stochastic, .random_bits = 32, .seed = 1, .first = 1}}) {
                round_array(format, operands, rounded, wrong, simd);
                CHECK(compare(expected_stochastic, rounded).mismatches != 0);
            }
        }
    }
}

TEST_CASE("arrays of different sizes and senseless numbers of random bits are refused") {
    std::vector<float> five(5);
    std::vector<float> four(4);
    CHECK_THROWS_WITH_AS(round_array(ulp::formats::fp16, five, four),
                         "round_array: arrays of 5 and 4 elements; give arrays of the same size",
                         std::invalid_argument);
    for (const int random_bits : {0, -1, 33}) {
        const Context context{.rounding = Rounding::stochastic, .random_bits = random_bits};
        CHECK_THROWS_AS(round_array(ulp::formats::fp16, five, context), std::invalid_argument);
    }
}
