// One number through every door of the library gives one code: conversion of one number and of arrays from fp64 and
// fp32, rounding in a container, and the text that `ulplab show` reads. On all codes of the named formats of up to 16
// bits, on the middles between neighbours, on the numbers beside those, and beyond the ends.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace ulp::test {
namespace {

double number_of(const FloatFormat& format, std::uint64_t code) {
    Context exact;
    return std::bit_cast<double>(convert_bits(formats::fp64, format, code, exact));
}

/// Zeros, infinities, a NaN, every code's number, the middle above it and the fp64 numbers on both sides of that.
std::vector<double> questions_of(const FloatFormat& format) {
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> numbers{infinity, std::nan(""), 0x1p1000, 0x1p-1000};
    const std::uint64_t last = format.max_finite_magnitude();
    for (std::uint64_t code = 0; code <= last; ++code) {
        const double x = number_of(format, code);
        const double above = code < last ? number_of(format, code + 1) : 2 * x - number_of(format, code - 1);
        const double middle = (x + above) / 2;
        for (const double y : {x, middle, std::nextafter(middle, 0.0), std::nextafter(middle, infinity)}) {
            numbers.push_back(y);
        }
    }
    const std::size_t positive = numbers.size();
    for (std::size_t i = 0; i < positive; ++i) numbers.push_back(-numbers[i]);
    return numbers;
}

/// The code of a number in a container of the format, or of a NaN: any.
std::uint64_t code_in(const FloatFormat& format, double x) {
    Context exact;
    return convert_bits(format, formats::fp64, std::bit_cast<std::uint64_t>(x), exact);
}

struct Count {
    std::int64_t compared = 0, different = 0;
    std::string first;
    void compare(const FloatFormat& format, double x, const char* door, std::uint64_t expected, std::uint64_t got) {
        ++compared;
        if (expected == got || different++ > 0) return;
        first = name_of(format) + ", " + std::to_string(x) + " by " + door + ": " + to_hex_bits(format, got) +
                ", not " + to_hex_bits(format, expected);
    }
};

/// A NaN in a container has no code of its own: those that stand for NaN are one.
std::uint64_t with_one_nan(const FloatFormat& format, std::uint64_t code) {
    return is_nan(format, code) ? nan_bits(format) : code;
}

void compare_doors(const FloatFormat& format, const std::vector<double>& numbers, const Context& how, Count& count) {
    const std::size_t bytes = format.storage_bits() <= 8 ? 1 : 2;
    std::vector<std::uint8_t> codes(bytes * numbers.size());
    array::convert_words(format, formats::fp64, numbers.data(), codes.data(), numbers.size(), how, simd_choice());
    std::vector<double> rounded(numbers.size());
    round_array(format, std::span<const double>(numbers), std::span<double>(rounded), how);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double x = numbers[i];
        Context context = how;
        const std::uint64_t code = convert_bits(format, formats::fp64, std::bit_cast<std::uint64_t>(x), context);
        count.compare(format, x, "an array", code, array::load_word(codes.data(), bytes, i));
        const std::uint64_t one = with_one_nan(format, code);
        count.compare(format, x, "round_array", one, with_one_nan(format, code_in(format, rounded[i])));
        count.compare(format, x, "round_to", one, with_one_nan(format, code_in(format, round_to(format, x, how))));
        if (static_cast<double>(static_cast<float>(x)) == x) {
            Context single = how;
            const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(x));
            count.compare(format, x, "fp32", code, convert_bits(format, formats::fp32, word, single));
        }
        const bool many = bytes == 2 && i % 16 != 0;  // a text takes longer
        if (std::isnan(x) || many) continue;
        Context of_text = how;
        const std::string text = to_hex_float(formats::fp64, std::bit_cast<std::uint64_t>(x));
        count.compare(format, x, "text", code, parse_bits(format, text, of_text));
        count.compare(format, x, "text's flags", context.flags, of_text.flags);
    }
}

}  // namespace

TEST_CASE("every door of C++ gives a number the same code") {
    Count count;
    for (const NamedFormat& named : named_formats()) {
        if (named.format.storage_bits() > 16) continue;
        const std::vector<double> numbers = questions_of(named.format);
        for (const bool saturate : {false, true}) {
            compare_doors(named.format, numbers, {.saturate = saturate}, count);
            if (named.format.storage_bits() > 8 && saturate) continue;
            for (const Rounding rounding : {Rounding::toward_zero, Rounding::down, Rounding::nearest_away}) {
                compare_doors(named.format, numbers, {.rounding = rounding, .saturate = saturate}, count);
            }
        }
    }
    MESSAGE(count.compared << " comparisons");
    INFO(count.first);
    CHECK(count.different == 0);
}

TEST_CASE("a NaN by its text, in every format") {
    for (const NamedFormat& named : named_formats()) {
        for (const char* text : {"nan", "-nan"}) {
            Context of_text, of_word;
            const std::uint64_t word = text[0] == '-' ? 0xFFF8000000000000 : 0x7FF8000000000000;
            const std::uint64_t code = convert_bits(named.format, formats::fp64, word, of_word);
            CHECK(with_one_nan(named.format, parse_bits(named.format, text, of_text)) ==
                  with_one_nan(named.format, code));
            CHECK(of_text.flags == of_word.flags);
        }
    }
    Context context;
    CHECK(parse_bits(formats::fp16, "-nan", context) == 0xFE00);
    CHECK(parse_bits(formats::e2m1, "nan", context) == 7);
}

TEST_CASE("formats and roundings by the names that others have for them") {
    CHECK(format_by_name("float16") == formats::fp16);
    CHECK(format_by_name("Half") == formats::fp16);
    CHECK(format_by_name("float8_e4m3fn") == formats::e4m3);
    CHECK(format_by_name("e4m3fn") == formats::e4m3);
    CHECK(format_by_name("bfloat16") == formats::bf16);
    CHECK(rounding_by_name("RNE") == Rounding::nearest_even);
    CHECK(rounding_by_name("rtz") == Rounding::toward_zero);
    CHECK(rounding_by_name("rminMag") == Rounding::toward_zero);
    CHECK_THROWS_WITH(format_by_name("float17"), doctest::Contains("did you mean float16?"));
    CHECK_THROWS_WITH(rounding_by_name("nearest_evn"), doctest::Contains("did you mean nearest_even?"));
}

}  // namespace ulp::test
