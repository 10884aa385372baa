// Conversions of arrays: every set of instructions against convert_bits.
#include <doctest/doctest.h>

#include <bit>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "operands.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/round.hpp"

namespace {

using ulp::Context;
using ulp::FloatFormat;
using ulp::Rounding;
using ulp::Simd;
using ulp::array::bytes_of;
using Words = std::vector<std::uint64_t>;

Words convert_each(const FloatFormat& to, const FloatFormat& from, const Context& context, const Words& words) {
    Words converted;
    for (std::size_t i = 0; i < words.size(); ++i) {
        Context scalar = scalar_context(context, i);
        converted.push_back(convert_bits(to, from, words[i], scalar));
    }
    return converted;
}

Words convert_array(const FloatFormat& to, const FloatFormat& from, const Context& context, const Words& words,
                    Simd simd) {
    const auto in = ulp::test::to_bytes(words, bytes_of(from));
    std::vector<unsigned char> out(words.size() * bytes_of(to));
    ulp::array::convert_words(to, from, in.data(), out.data(), words.size(), context, simd);
    Words converted;
    for (std::size_t i = 0; i < words.size(); ++i) converted.push_back(ulp::test::word_at(out, bytes_of(to), i));
    return converted;
}

/// The number of differences; describes the first.
std::size_t mismatches(const Words& expected, const Words& converted, const Words& words, std::string& first) {
    std::size_t count = 0;
    for (std::size_t i = expected.size(); i-- > 0;) {
        if (expected[i] == converted[i]) continue;
        ++count;
        std::array<char, 120> text{};
        std::snprintf(text.data(), text.size(), "[%zu] %llX became %llX, expected %llX", i,
                      static_cast<unsigned long long>(words[i]), static_cast<unsigned long long>(converted[i]),
                      static_cast<unsigned long long>(expected[i]));
        first = text.data();
    }
    return count;
}

void check(const ulp::test::TestFormat& to, const ulp::test::TestFormat& from, const Context& context,
           const Words& words) {
    const Words expected = convert_each(to.format, from.format, context, words);
    for (const Simd simd : ulp::supported_simd()) {
        std::string first;
        const auto count =
            mismatches(expected, convert_array(to.format, from.format, context, words, simd), words, first);
        CAPTURE(first);
        CAPTURE(name_of(simd));
        CAPTURE(ulp::test::name_of(context.rounding));
        const std::string what = from.name + " to " + to.name;
        CHECK_MESSAGE(count == 0, what);
    }
}

Words all_codes(const FloatFormat& format) {
    if (format.code_bits() > 16) return ulp::test::codes(format, 20000);
    Words words;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << format.code_bits(); ++code) words.push_back(code);
    return words;
}

const Words& fp32_words() {
    static const Words words = [] {
        Words each;
        for (const float x : ulp::test::fp32_operands()) each.push_back(std::bit_cast<std::uint32_t>(x));
        return each;
    }();
    return words;
}

/// fp64 around fp32's cuts: fp32 words moved into fp64 with noise far below, and beyond fp32's range.
const Words& fp64_words() {
    static const Words words = [] {
        Words each;
        ulp::test::Words random(3);
        for (const std::uint64_t word : fp32_words()) {
            Context exact;
            const std::uint64_t wide = convert_bits(ulp::formats::fp64, ulp::formats::fp32, word, exact);
            const std::uint64_t choice = random.next();
            if (choice % 2 == 0) continue;
            each.push_back(choice % 4 == 1 ? wide : wide ^ (random.next() & 0x1FFFFFFF));
        }
        for (int i = 0; i < 20000; ++i) each.push_back(random.next());
        for (const std::uint64_t code : ulp::test::codes(ulp::formats::fp64, 0)) each.push_back(code);
        return each;
    }();
    return words;
}

const ulp::test::TestFormat fp32{"fp32", ulp::formats::fp32};
const ulp::test::TestFormat fp64{"fp64", ulp::formats::fp64};

}  // namespace

TEST_CASE("every code of every format becomes fp32 and fp64 as convert_bits has it") {
    for (const auto& from : ulp::test::array_formats()) {
        const Words words = all_codes(from.format);
        check(fp32, from, {}, words);
        check(fp64, from, {}, words);
        check(fp32, from, {.flush_inputs = true}, words);
        check(fp64, from, {.flush_inputs = true, .saturate = true}, words);
    }
}

TEST_CASE("fp32 becomes codes of every format, in every rounding") {
    for (const auto& to : ulp::test::array_formats()) {
        for (const Rounding rounding : ulp::test::deterministic_roundings()) {
            check(to, fp32, {.rounding = rounding}, fp32_words());
        }
        const Words some(fp32_words().begin(), fp32_words().begin() + 30001);
        check(to, fp32, {.flush_inputs = true, .flush_outputs = true, .saturate = true}, some);
        check(to, fp32, {.rounding = Rounding::down, .saturate = true}, some);
        check(to, fp32, {.rounding = Rounding::stochastic, .random_bits = 20, .seed = 3, .first = 5}, some);
    }
}

TEST_CASE("fp64 becomes codes of every format, in every rounding, rounded once") {
    for (const auto& to : ulp::test::array_formats()) {
        for (const Rounding rounding : ulp::test::deterministic_roundings()) {
            check(to, fp64, {.rounding = rounding}, fp64_words());
        }
        const Words some(fp64_words().begin(), fp64_words().begin() + 10001);
        check(to, fp64, {.flush_outputs = true}, some);
        check(to, fp64, {.rounding = Rounding::up, .flush_inputs = true, .flush_outputs = true, .saturate = true},
              some);
        for (const int random_bits : {1, 4, 12, 15, 20, 32}) {
            check(to, fp64, {.rounding = Rounding::stochastic, .random_bits = random_bits, .seed = 3}, some);
        }
    }
}

TEST_CASE("formats of 16 bits and less become one another") {
    for (const auto& from : ulp::test::array_formats()) {
        if (from.format.code_bits() > 16) continue;
        const Words words = all_codes(from.format);
        for (const auto& to : ulp::test::array_formats()) {
            if (to.format.code_bits() > 19) continue;
            check(to, from, {}, words);
            check(to, from, {.rounding = Rounding::down, .saturate = true}, words);
            check(to, from, {.flush_inputs = true, .flush_outputs = true}, words);
        }
    }
}

TEST_CASE("typed spans convert, and those of different sizes are refused") {
    const std::vector<float> x{1.0F, -65504.0F, 1e-7F, 65520.0F, 0.1F};
    std::vector<ulp::fp16> halves(5);
    ulp::convert_array<float, ulp::fp16>(x, halves);
    CHECK(halves[0].bits() == 0x3C00);
    CHECK(halves[1].bits() == 0xFBFF);
    CHECK(halves[2].bits() == 0x0002);
    CHECK(halves[3].bits() == 0x7C00);
    CHECK(halves[4].bits() == 0x2E66);
    std::vector<double> back(5);
    ulp::convert_array<ulp::fp16, double>(halves, back);
    CHECK(back[4] == 0.0999755859375);
    std::vector<ulp::bf16> four(4);
    CHECK_THROWS_WITH_AS((ulp::convert_array<ulp::fp16, ulp::bf16>(halves, four)),
                         "convert_array: arrays of 5 and 4 elements; give arrays of the same size",
                         std::invalid_argument);
}

TEST_CASE("the comparison finds a conversion that is wrong on any path") {
    for (const Simd simd : ulp::supported_simd()) {
        for (const auto& to : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::e4m3, ulp::formats::tf32}) {
            std::string first;
            const Words expected = convert_each(to, ulp::formats::fp64, {}, fp64_words());
            const auto made = [&](Rounding rounding) {
                return convert_array(to, ulp::formats::fp64, {.rounding = rounding}, fp64_words(), simd);
            };
            CHECK(mismatches(expected, made(Rounding::nearest_even), fp64_words(), first) == 0);
            CHECK(mismatches(expected, made(Rounding::nearest_away), fp64_words(), first) != 0);
            // Rounding to fp32 first, to nearest, is the mistake that rounding to odd avoids.
            const Words twice =
                convert_array(to, ulp::formats::fp32, {},
                              convert_each(ulp::formats::fp32, ulp::formats::fp64, {}, fp64_words()), simd);
            CHECK(mismatches(expected, twice, fp64_words(), first) != 0);
        }
    }
}
