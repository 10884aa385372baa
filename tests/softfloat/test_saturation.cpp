// Saturating conversions as PTX's satfinite: beyond the largest finite number stands the largest finite number, also
// for infinities; a NaN stays a NaN, or becomes the largest number where the format has none. On every path.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/describe.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace {

using namespace ulp;

constexpr float infinity = std::numeric_limits<float>::infinity();
const std::vector<float> beyond{500, 1e6F, 3e38F, infinity};

/// Formats whose largest number is below all of `beyond`, but for the first: E4M3's 448 is.
template <class T>
void check_format() {
    const T largest = std::numeric_limits<T>::max();
    const bool has_nan = T::format.has_nan();
    Context context{.saturate = true};
    const auto numbers = [&] {
        std::vector<float> list;
        for (const float x : beyond) {
            if (x > static_cast<float>(largest)) list.push_back(x);
        }
        return list;
    }();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float x : numbers) {
        CAPTURE(x);
        for (const float sign : {1.0F, -1.0F}) {
            const T expected = sign > 0 ? largest : -largest;
            CHECK(T(sign * x, context).bits() == expected.bits());
            CHECK(T(double{sign * x}, context).bits() == expected.bits());
            CHECK(convert<T>(fp32(sign * x), context).bits() == expected.bits());
            CHECK(convert<T>(bf16(sign * x), context).bits() == expected.bits());
            CHECK(round_to(T::format, sign * x, {.saturate = true}) == static_cast<float>(expected));
            CHECK(round_to(T::format, double{sign * x}, {.saturate = true}) == static_cast<double>(expected));
            const std::string text = sign > 0 ? "1e39" : "-inf";
            CHECK(parse_bits(T::format, text, context) == expected.bits());
        }
    }
    CHECK(T(nan, context).bits() == (has_nan ? static_cast<typename T::Bits>(nan_bits(T::format)) : largest.bits()));
    CHECK(multiply(largest, largest, context).bits() == largest.bits());
    CHECK(add(-largest, -largest, context).bits() == (-largest).bits());
    CHECK(divide(largest, T{0}, context).bits() == largest.bits());
    CHECK(exp(largest, context).bits() == largest.bits());

    // The same on arrays of a length that has whole vectors and a rest.
    std::vector<float> from;
    for (int i = 0; i < 37; ++i) {
        const float x = i % 5 == 4 ? nan : numbers[static_cast<std::size_t>(i) % numbers.size()];
        from.push_back(i % 2 == 0 ? x : -x);
    }
    const std::vector<double> from_double(from.begin(), from.end());
    for (const Simd simd : supported_simd()) {
        std::vector<T> codes(from.size());
        std::vector<float> floats(from.size());
        std::vector<double> doubles(from.size());
        const auto check = [&](const std::string& path) {
            int wrong = 0;
            for (std::size_t i = 0; i < from.size(); ++i) {
                if (codes[i].bits() != T(from[i], context).bits()) ++wrong;
            }
            CHECK_MESSAGE(wrong == 0, path << ", " << name_of(simd));
        };
        const auto take = [&](const auto& values) {
            for (std::size_t i = 0; i < from.size(); ++i) codes[i] = T(values[i]);
        };
        convert_array<float, T>(from, codes, {.saturate = true}, simd);
        check("convert_array from float");
        convert_array<double, T>(from_double, codes, {.saturate = true}, simd);
        check("convert_array from double");
        round_array(T::format, from, floats, {.saturate = true}, simd);
        take(floats);
        check("round_array on float");
        round_array(T::format, from_double, doubles, {.saturate = true}, simd);
        take(doubles);
        check("round_array on double");
        const std::vector<T> largest_numbers(from.size(), largest);
        multiply_array<T>(largest_numbers, largest_numbers, codes, {.saturate = true}, simd);
        CHECK(codes.back().bits() == largest.bits());
        exp_array<T>(largest_numbers, codes, {.saturate = true});
        CHECK(codes.back().bits() == largest.bits());
    }
}

}  // namespace

TEST_CASE("500 to E4M3 is NaN, saturating it is 448") {
    CHECK(isnan(e4m3(500.0)));
    CHECK(static_cast<double>(e4m3(500.0, Context{.saturate = true})) == 448);
    CHECK(std::isnan(round_to(formats::e4m3, infinity)));
    CHECK(describe({"e4m3", formats::e4m3, ""}, "500").value.decimal == "nan");
    CHECK(describe({"e4m3", formats::e4m3, ""}, "500", {.saturate = true}).value.decimal == "448");
}

TEST_CASE_TEMPLATE("conversions and operations saturate on every path", T, e4m3, e5m2, e4m3fnuz, e5m2fnuz, fp16, e2m1,
                   e3m2, e2m3) {
    check_format<T>();
}
