// The fast rounding against round_to: the same bits.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/tensor/steps.hpp"
#include "engine/tensor/tensor.hpp"
#include "softfloat/names.hpp"

namespace {

using namespace ulp;

float slow(const FloatFormat& format, float x, Context options) { return round_to(format, x, options); }
double slow(const FloatFormat& format, double x, Context options) { return round_to(format, x, options); }

template <class Real>
auto bits_of(Real x) {
    return std::bit_cast<std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>>(x);
}

/// How many of the numbers round differently; the first is reported.
template <class Real>
int mismatches(const FloatFormat& format, const std::vector<Real>& numbers, Context options) {
    const Rounder<Real> round(format, options);
    int count = 0;
    for (const Real x : numbers) {
        const Real fast = round(x);
        const Real expected = slow(format, x, options);
        if (bits_of(fast) == bits_of(expected)) continue;
        if (count++ == 0) {
            MESSAGE(name_of(format) << ": " << bits_of(x) << " rounds to " << bits_of(fast) << ", not "
                                    << bits_of(expected));
        }
    }
    return count;
}

/// Every code of a format of up to 16 bits, every midpoint between two, and the container's neighbours of both.
template <class Real>
std::vector<Real> around_the_grid(const FloatFormat& format) {
    using Word = decltype(bits_of(Real{}));
    std::vector<Real> numbers;
    for (std::uint64_t code = 0; code < (std::uint64_t{1} << format.code_bits()); ++code) {
        const std::uint64_t word = code << format.padding_bits;
        if (is_nan(format, word) || is_infinity(format, word)) continue;
        Context exact;
        const FloatFormat container = std::is_same_v<Real, float> ? formats::fp32 : formats::fp64;
        const auto bits = static_cast<Word>(convert_bits(container, format, word, exact));
        const Word half = Word{1} << (container.fraction_bits - format.fraction_bits - 1);
        for (const Word w : {bits, static_cast<Word>(bits + half)}) {
            for (const Word near : {w, static_cast<Word>(w + 1), static_cast<Word>(w - 1)}) {
                numbers.push_back(std::bit_cast<Real>(near));
            }
        }
    }
    return numbers;
}

template <class Real>
std::vector<Real> random_patterns(int count) {
    using Word = decltype(bits_of(Real{}));
    std::vector<Real> numbers;
    Random random(7);
    for (int i = 0; i < count; ++i) numbers.push_back(std::bit_cast<Real>(static_cast<Word>(random.next())));
    for (const Real x :
         {Real{0}, -Real{0}, std::numeric_limits<Real>::infinity(), -std::numeric_limits<Real>::infinity(),
          std::numeric_limits<Real>::quiet_NaN(), -std::numeric_limits<Real>::quiet_NaN(),
          std::numeric_limits<Real>::max(), std::numeric_limits<Real>::denorm_min()}) {
        numbers.push_back(x);
    }
    return numbers;
}

constexpr Context all_options[] = {{},
                                   {.flush_outputs = true},
                                   {.saturate = true},
                                   {.flush_outputs = true, .saturate = true},
                                   {.tininess = Tininess::before_rounding, .flush_outputs = true}};

TEST_CASE("fast rounding from fp32 equals round_to around every code and midpoint, and on random patterns") {
    for (const NamedFormat& row : named_formats()) {
        const FloatFormat& format = row.format;
        if (!format.has_sign || !format.has_subnormals || format.fraction_bits > 23) continue;
        CAPTURE(row.name);
        for (const Context& options : all_options) {
            CHECK(mismatches(format, random_patterns<float>(100000), options) == 0);
            if (format.code_bits() <= 16) CHECK(mismatches(format, around_the_grid<float>(format), options) == 0);
        }
    }
}

TEST_CASE("sums of tensors in a format are the steps' sums, for every pair of edges and of random numbers") {
    for (const NamedFormat& row : named_formats()) {
        if (!row.format.has_sign || !row.format.has_subnormals || row.format.fraction_bits > 23) continue;
        for (const Context& how :
             {Context{}, Context{.flush_outputs = true}, Context{.flush_inputs = true, .flush_outputs = true}}) {
            const ComputeFormat format{row.format, how};
            CAPTURE(row.name);
            std::vector<float> numbers = random_patterns<float>(5000);
            // Where subnormals end, and in the middle of them.
            Random random(11);
            for (int i = 0; i < 5000; ++i) {
                const int exponent = row.format.emin() + static_cast<int>(random.between(-12, 3));
                numbers.push_back(static_cast<float>(std::ldexp(random.uniform(-2, 2), exponent)));
            }
            round_all(row.format, std::span(numbers));
            std::vector<float> sums(numbers.rbegin(), numbers.rend());
            const std::vector<float> others = sums;
            add_rounded(std::span<const float>(numbers), format, sums.data());
            int wrong = 0;
            with_steps(format, [&](const auto& s) {
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    const float expected = s.add(others[i], numbers[i]);
                    const bool both_nan = std::isnan(expected) && std::isnan(sums[i]);
                    wrong += both_nan || bits_of(sums[i]) == bits_of(expected) ? 0 : 1;
                }
            });
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("fast rounding from fp64 equals round_to around every code and midpoint, and on random patterns") {
    for (const NamedFormat& row : named_formats()) {
        const FloatFormat& format = row.format;
        if (!format.has_sign || !format.has_subnormals) continue;
        CAPTURE(row.name);
        for (const Context& options : all_options) {
            CHECK(mismatches(format, random_patterns<double>(50000), options) == 0);
            if (format.code_bits() <= 16) CHECK(mismatches(format, around_the_grid<double>(format), options) == 0);
        }
    }
}

TEST_CASE("a Rounder refuses the options that it has not") {
    CHECK_THROWS_WITH_AS(Rounder<float>(formats::fp16, {.rounding = Rounding::up}),
                         "a Rounder rounds to nearest even, flushes no inputs, and takes no tables, one_nan_infinity, "
                         "even_codes and SatPropagate; round_to has all options",
                         std::invalid_argument);
    CHECK_THROWS_AS(Rounder<double>(formats::fp16, {.flush_inputs = true}), std::invalid_argument);
}

TEST_CASE("rounding an array equals rounding its entries") {
    std::vector<float> numbers = random_patterns<float>(1003);
    const std::vector<float> before = numbers;
    round_all(formats::fp16, numbers);
    int wrong = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        wrong += bits_of(numbers[i]) == bits_of(round_to(formats::fp16, before[i])) ? 0 : 1;
    }
    CHECK(wrong == 0);
}

}  // namespace
