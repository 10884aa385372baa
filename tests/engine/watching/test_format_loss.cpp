// What a format loses of an array: kernels against one number at a time, bit for bit.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/watching/format_loss.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/philox.hpp"

namespace {

using namespace ulp;

/// Exponents from `lowest` to `highest`, every third number with few digits, so that there are ties.
std::vector<float> spread_floats(std::size_t count, int lowest, int highest, std::uint32_t stream) {
    std::vector<float> numbers;
    const auto exponents = static_cast<unsigned>(highest - lowest + 1);
    for (std::uint32_t i = 0; numbers.size() < count; ++i) {
        const auto words = philox::generate({i, stream, 0, 0}, {11, 0});
        const int exponent = lowest + static_cast<int>(words[1] % exponents);
        const std::uint32_t fraction = i % 3 == 0 ? words[0] & 0xFFF00000 : words[0];
        const double significand = 1 + static_cast<double>(fraction >> 9) * 0x1p-23;
        numbers.push_back(static_cast<float>(std::ldexp((words[2] & 1) != 0 ? -significand : significand, exponent)));
    }
    return numbers;
}

void check_all_kernels(const std::vector<float>& numbers) {
    const ArrayScan scan = scan_array(numbers);
    for (const Simd simd : supported_simd()) {
        CAPTURE(std::string(name_of(simd)));
        const ArrayScan same = scan_array(numbers, simd);
        CHECK(same.all_finite == scan.all_finite);
        CHECK(same.any_powers == scan.any_powers);
        CHECK(same.zeros == scan.zeros);
        CHECK(same.largest == scan.largest);
        for (const NamedFormat& row : named_formats()) {
            if (!row.format.has_sign || !row.format.has_subnormals) continue;
            CAPTURE(std::string(row.name));
            CHECK(loss_of(row.format, numbers, scan, simd) == loss_of_plain(row.format, std::span(numbers)));
        }
    }
}

}  // namespace

TEST_CASE("losses of every format: kernels for all instructions give the bits of one number at a time") {
    for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 8192U, 8201U}) {
        CAPTURE(count);
        check_all_kernels(spread_floats(count, -40, 5, 1));      // fp16's range and below
        check_all_kernels(spread_floats(count, -3, 20, 2));      // overflows in narrow formats
        check_all_kernels(spread_floats(count, -149, -120, 3));  // fp32's subnormals
        check_all_kernels(spread_floats(count, 100, 127, 4));    // beyond what an addition can round in bf16
    }
}

TEST_CASE("losses: zeros, infinities, NaNs and limits count the same in kernels and one by one") {
    std::vector<float> numbers = spread_floats(5000, -30, 17, 5);
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float x : {0.0F,
                          -0.0F,
                          infinity,
                          -infinity,
                          std::numeric_limits<float>::quiet_NaN(),
                          65504.0F,
                          65519.996F,
                          65520.0F,
                          464.0F,
                          464.00003F,
                          448.0F,
                          7.0F,
                          6.0F,
                          0x1p-24F,
                          0x1p-25F,
                          0x1.000002p-25F,
                          0x1.ffcp-15F,
                          0x1.ffep-15F,
                          0x1.fffffep127F,
                          0x1p-149F}) {
        numbers.push_back(x);
        numbers.insert(numbers.begin() + 17, x);
    }
    check_all_kernels(numbers);
    CHECK(scan_array(numbers).zeros == 4);
    CHECK(scan_array(numbers).largest == 0x1.fffffep127F);
    CHECK_FALSE(scan_array(numbers).all_finite);
    CHECK(scan_array(std::vector<float>{1.5F, -4.0F}).any_powers);
    CHECK_FALSE(scan_array(std::vector<float>{1.5F, 0.0F, 3.0F}).any_powers);
}

TEST_CASE("a signal-to-noise ratio is that of long sums in fp64, and no sum depends on weights' grouping") {
    const std::vector<float> numbers = spread_floats(8192, -14, 3, 6);
    const FormatLoss loss = loss_of(formats::e5m2, numbers, scan_array(numbers));
    long double signal = 0, noise = 0;
    std::vector<double> each(numbers.begin(), numbers.end());
    for (const double x : each) {
        int exponent = 0;
        const double significand = std::frexp(std::fabs(x), &exponent);  // [0.5, 1): 3 significant bits are kept
        const double rounded = std::ldexp(std::nearbyint(significand * 8) / 8, exponent);
        signal += static_cast<long double>(x) * x;
        noise += (std::fabs(x) - rounded) * (std::fabs(x) - rounded);
    }
    CHECK(*loss.snr_db() == doctest::Approx(static_cast<double>(10 * std::log10(signal / noise))).epsilon(1e-9));
    const FormatLoss twice = loss_of_weighted(formats::e5m2, each, std::vector<std::int64_t>(each.size(), 2));
    CHECK(twice.lost == 2 * loss.lost);
    CHECK(twice.judged == 2 * loss.judged);
    CHECK(*twice.snr_db() == doctest::Approx(*loss.snr_db()).epsilon(1e-12));
}

TEST_CASE("the order of a sum shows in its bits, so that a kernel with another order would be found") {
    const std::vector<float> numbers = spread_floats(8192, -20, 3, 7);
    const FormatLoss loss = loss_of(formats::e4m3, numbers, scan_array(numbers));
    double one_by_one = 0;
    for (const float x : numbers) {
        if (std::fabs(x) < overflow_from(formats::e4m3)) one_by_one += static_cast<double>(x) * static_cast<double>(x);
    }
    CHECK(one_by_one == doctest::Approx(loss.signal).epsilon(1e-12));
    CHECK(std::bit_cast<std::uint64_t>(one_by_one) != std::bit_cast<std::uint64_t>(loss.signal));
}
