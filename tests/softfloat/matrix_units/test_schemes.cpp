// fp32 and fp64 products from narrow units: no error beyond its bound, and bounds of a better scheme are left.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "softfloat/matrix_units/schemes.hpp"

namespace {

using namespace ulp;

#ifdef ULPLAB_ROUNDS
constexpr int rounds = ULPLAB_ROUNDS;
#else
constexpr int rounds = 4;  // of 18,480 results in all; 300,000 terms of products in each
#endif
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::string_view bf16_row = "sm_90:wgmma.bf16.fp32", int8_row = "sm_90:wgmma.s8.s32";

/// A product with what it was made of.
struct Product {
    std::int64_t m, k, n;
    std::vector<double> a, b, c, d;
    [[nodiscard]] Fp64Problem problem() {
        return {{a.data(), m, k},
                {b.data(), k, n},
                c.empty() ? BasicMatrixView<const double>() : BasicMatrixView<const double>(c.data(), m, n),
                {d.data(), m, n}};
    }
};

using Number = std::function<double(std::mt19937_64&)>;

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; }
/// Of exponents up to +-range, a tenth of them zero.
Number wide(int range) {
    return [range](std::mt19937_64& random) {
        const auto exponent = static_cast<int>(random() % static_cast<unsigned>(2 * range + 1)) - range;
        return random() % 10 == 0 ? 0.0 : std::ldexp(uniform(random), exponent);
    };
}
/// Significands of ones, so that every part is as long as it may be and lies at a tie.
double of_ones(std::mt19937_64& random) {
    const double x = 2 - std::ldexp(1.0, -static_cast<int>(random() % 53));
    return random() % 2 == 0 ? x : -x;
}

/// Numbers of the format in A, B and C. Cancelling: every second product is minus the one before, but for a little.
Product random_product(const FloatFormat& format, const Number& number, std::int64_t k, bool with_c, bool cancelling,
                       std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Product p{5, k, 7, {}, {}, {}, std::vector<double>(35)};
    const auto of_format = [&](double x) {
        return format == formats::fp32 ? static_cast<double>(static_cast<float>(x)) : x;
    };
    for (std::int64_t i = 0; i < p.m * k; ++i) p.a.push_back(of_format(number(random)));
    for (std::int64_t i = 0; i < p.n * k; ++i) p.b.push_back(of_format(number(random)));
    for (int i = 0; with_c && i < 35; ++i) p.c.push_back(of_format(number(random)));
    for (std::int64_t h = 1; cancelling && h < k; h += 2) {
        for (std::int64_t i = 0; i < p.m; ++i) {
            const auto at = static_cast<std::size_t>(i * k + h);
            p.a[at] = of_format(-p.a[at - 1] * (1 + 0x1p-20 * uniform(random)));
        }
        for (std::int64_t j = 0; j < p.n; ++j)
            p.b[static_cast<std::size_t>(h * p.n + j)] = p.b[static_cast<std::size_t>((h - 1) * p.n + j)];
    }
    return p;
}

SchemePlan plan(std::string_view scheme, std::string_view unit, std::int64_t k, const FloatFormat& output) {
    return plan_of(scheme_by_name(scheme), find_unit(unit), {}, k, output);
}

/// The largest share of the bound that an error takes, of elements whose bound is finite.
double largest_share(const SchemePlan& used, const SchemePlan& judged, Product& p, int* judged_elements = nullptr) {
    scheme_product(used, p.problem());
    Product bound = p;
    scheme_bounds(judged, bound.problem());
    double largest = 0;
    for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
            const double limit = bound.d[static_cast<std::size_t>(i * p.n + j)];
            if (std::isinf(limit)) continue;
            if (judged_elements != nullptr) ++*judged_elements;
            const double error = std::abs(error_of(p.problem(), i, j));
            largest = std::max(largest, error == 0 ? 0 : error / limit);
        }
    }
    return largest;
}

struct Case {
    std::string_view scheme, unit;
    FloatFormat output;
};
const std::vector<Case>& cases() {
    static const std::vector<Case> list = {{"bf16x3", bf16_row, formats::fp32},
                                           {"bf16x6", bf16_row, formats::fp32},
                                           {"bf16x9", bf16_row, formats::fp32},
                                           {"bf16x9", "sm_80:mma.bf16.fp32", formats::fp32},
                                           {"bf16x9", "gfx942:mfma.bf16.fp32", formats::fp32},
                                           {"3xtf32", "sm_90:wgmma.tf32.fp32", formats::fp32},
                                           {"3xtf32", "sm_80:mma.tf32.fp32", formats::fp32},
                                           {"ozaki1", int8_row, formats::fp32},
                                           {"ozaki1:2", int8_row, formats::fp32},
                                           {"ozaki1", int8_row, formats::fp64},
                                           {"ozaki1", "sm_80:mma.s4.s32", formats::fp64},
                                           {"ozaki1", bf16_row, formats::fp32},
                                           {"ozaki1", "sm_80:mma.fp16.fp32", formats::fp64},
                                           {"ozaki1", "sm_80:mma.fp16.fp16", formats::fp32},
                                           {"ozaki1", "sm_90:wgmma.e4m3.fp32", formats::fp64},
                                           {"ozaki1", "sm_90:mma.e5m2.fp32", formats::fp32},
                                           {"ozaki1", "gfx942:mfma.fp16.fp32", formats::fp64},
                                           {"ozaki2", int8_row, formats::fp32},
                                           {"ozaki2:5", int8_row, formats::fp32},
                                           {"ozaki2", int8_row, formats::fp64},
                                           {"ozaki2", bf16_row, formats::fp64},
                                           {"ozaki2", "sm_90:wgmma.tf32.fp32", formats::fp32}};
    return list;
}

struct Data {
    std::string_view name;
    Number number;
    bool with_c, cancelling;
};
const std::vector<Data>& data_classes() {
    static const std::vector<Data> list = {{"ordinary", uniform, false, false},
                                           {"with C", uniform, true, false},
                                           {"wide exponents", wide(40), true, false},
                                           {"exponents to the ends", wide(120), true, false},
                                           {"significands of ones", of_ones, false, false},
                                           {"cancelling", uniform, false, true}};
    return list;
}

/// Elements that were judged, and the largest share of the bound.
std::pair<int, double> judged(const Case& of, const Data& data, std::uint64_t seed) {
    int elements = 0;
    double largest = 0;
    for (int round = 0; round < rounds; ++round) {
        const std::int64_t k = std::vector<std::int64_t>{1, 16, 37, 200}[static_cast<std::size_t>(round) % 4];
        const bool wider = of.output == formats::fp64 && data.name == "exponents to the ends";
        Product p = random_product(of.output, wider ? wide(540) : data.number, k, data.with_c, data.cancelling,
                                   seed + static_cast<std::uint64_t>(round));
        const SchemePlan used = plan(of.scheme, of.unit, k, of.output);
        largest = std::max(largest, largest_share(used, used, p, &elements));
    }
    return {elements, largest};
}

}  // namespace

TEST_CASE("no error of a scheme exceeds its bound, and bounds are not idle") {
    for (const Case& each : cases()) {
        double largest = 0;
        for (const Data& data : data_classes()) {
            CAPTURE(each.scheme);
            CAPTURE(each.unit);
            CAPTURE(data.name);
            const auto [elements, share] = judged(each, data, 1);
            CHECK(share <= 1);
            CHECK(elements >= 20);
            largest = std::max(largest, share);
        }
        CHECK(largest > 0.02);
    }
}

TEST_CASE("a bound that is too small is left: of the scheme with more products") {
    struct Pair {
        std::string_view worse, better, unit;
        FloatFormat output;
    };
    for (const Pair& each : {Pair{"bf16x3", "bf16x6", bf16_row, formats::fp32},
                             {"bf16x3", "bf16x9", bf16_row, formats::fp32},
                             {"ozaki1:3", "ozaki1:4", int8_row, formats::fp64},
                             {"ozaki1:6", "ozaki1:7", int8_row, formats::fp64},
                             {"ozaki1:7", "ozaki1:9", int8_row, formats::fp64},
                             {"ozaki2:7", "ozaki2:8", int8_row, formats::fp64},
                             {"ozaki2:11", "ozaki2:12", int8_row, formats::fp64}}) {
        CAPTURE(each.worse);
        Product p = random_product(each.output, uniform, 4, false, false, 3);
        const auto of = [&](std::string_view scheme) { return plan(scheme, each.unit, 4, each.output); };
        CHECK(largest_share(of(each.worse), of(each.better), p) > 1);
    }
}

TEST_CASE("the bound for all operands is not less than any error") {
    for (const Case& each : cases()) {
        CAPTURE(each.scheme);
        CAPTURE(each.unit);
        for (const Number& number : {Number(uniform), Number(of_ones)}) {
            Product p = random_product(each.output, number, 64, false, false, 5);
            const SchemePlan used = plan(each.scheme, each.unit, 64, each.output);
            const AprioriBound bound = scheme_bound(used, 64);
            scheme_product(used, p.problem());
            for (std::int64_t i = 0; i < p.m; ++i) {
                for (std::int64_t j = 0; j < p.n; ++j) {
                    double s = magnitude_of(p.problem(), i, j);
                    double a = 0, b = 0;
                    for (std::int64_t h = 0; h < 64; ++h) {
                        a = std::max(a, std::abs(p.problem().a(i, h)));
                        b = std::max(b, std::abs(p.problem().b(h, j)));
                    }
                    if (used.of_integers()) s = 64 * a * b;
                    CHECK(std::abs(error_of(p.problem(), i, j)) <= bound.gamma * s + bound.eta);
                }
            }
        }
    }
}

TEST_CASE("how many products a scheme makes") {
    const auto products = [](std::string_view scheme, std::string_view unit, const FloatFormat& output) {
        return plan(scheme, unit, 1024, output).products;
    };
    CHECK(products("bf16x3", bf16_row, formats::fp32) == 3);
    CHECK(products("bf16x6", bf16_row, formats::fp32) == 6);
    CHECK(products("bf16x9", bf16_row, formats::fp32) == 9);
    CHECK(products("3xtf32", "sm_80:mma.tf32.fp32", formats::fp32) == 3);
    CHECK(products("ozaki1", int8_row, formats::fp64) == 45);  // 9 slices of 7 bits: 10 * 2^-63 is below 2^-53
    CHECK(products("ozaki1:8", int8_row, formats::fp64) == 36);
    CHECK(products("ozaki1", int8_row, formats::fp32) == 10);
    CHECK(products("ozaki2", int8_row, formats::fp64) == 16);
    CHECK(products("ozaki2", int8_row, formats::fp32) == 8);
}

TEST_CASE("whole numbers that the slices and the moduli hold are multiplied exactly") {
    std::mt19937_64 random(7);
    const Number small = [](std::mt19937_64& r) { return static_cast<double>(static_cast<int>(r() % 2001) - 1000); };
    for (const Case& each : cases()) {
        if (each.scheme.find(':') != std::string_view::npos || each.scheme == "bf16x3") continue;
        CAPTURE(each.scheme);
        CAPTURE(each.unit);
        // Below 2^21 in all, which leaves fp32 sums exact.
        Product p = random_product(each.output, small, 2, false, false, random());
        scheme_product(plan(each.scheme, each.unit, 2, each.output), p.problem());
        for (std::int64_t i = 0; i < p.m; ++i) {
            for (std::int64_t j = 0; j < p.n; ++j) CHECK(error_of(p.problem(), i, j) == 0);
        }
    }
}

TEST_CASE("every row that takes ozaki1 or ozaki2 adds whole numbers without error, the largest sums included") {
    // Slices of ones make the largest sums; others have all bits and signs. Nine slices of two bits hold nine bits.
    const Number ones = [](std::mt19937_64&) { return 511.0; };
    const Number any = [](std::mt19937_64& r) { return static_cast<double>(static_cast<int>(r() % 1023) - 511); };
    int rows = 0;
    std::vector<UnitModel> known;
    for (const UnitRow& row : unit_table()) {
        if (std::ranges::find(known, row.model) != known.end()) continue;
        known.push_back(row.model);
        for (const std::string_view scheme : {"ozaki1:9", "ozaki2"}) {
            for (const Number& number : {ones, any}) {
                SchemePlan used;
                try {
                    used = plan_of(scheme_by_name(scheme), row, {}, 140, formats::fp64);
                } catch (const std::invalid_argument&) {
                    continue;  // refused
                }
                CAPTURE(row.key());
                CAPTURE(scheme);
                Product p = random_product(formats::fp64, number, 140, false, false, 11);
                scheme_product(used, p.problem());
                int wrong = 0;
                for (std::int64_t i = 0; i < p.m; ++i) {
                    for (std::int64_t j = 0; j < p.n; ++j) wrong += error_of(p.problem(), i, j) == 0 ? 0 : 1;
                }
                CHECK(wrong == 0);
                ++rows;
            }
        }
    }
    CHECK(rows > 100);
}

TEST_CASE("infinities, NaNs, the largest numbers, zeros and empty sums") {
    constexpr double largest = std::numeric_limits<float>::max();
    for (const Case& each : {Case{"bf16x9", bf16_row, formats::fp32},
                             {"ozaki1", int8_row, formats::fp32},
                             {"ozaki2", int8_row, formats::fp32}}) {
        CAPTURE(each.scheme);
        Product p{3, 2, 1, {infinity, 1, largest, 0, 0, 0}, {1, 0}, {}, std::vector<double>(3, 5)};
        const SchemePlan used = plan(each.scheme, each.unit, 2, formats::fp32);
        scheme_product(used, p.problem());
        CHECK(p.d == std::vector<double>{infinity, largest, 0});
        scheme_bounds(used, p.problem());
        CHECK(std::isinf(p.d[0]));
        p.b = {0, 1};
        scheme_product(used, p.problem());
        CHECK(std::isnan(p.d[0]));
        CHECK(p.d[1] == 0);
        Product empty{1, 0, 1, {}, {}, {2.5}, {0}};
        empty.a.reserve(1);
        empty.b.reserve(1);
        scheme_product(plan(each.scheme, each.unit, 0, formats::fp32), empty.problem());
        CHECK(empty.d == std::vector<double>{2.5});
    }
}

TEST_CASE("what a scheme cannot use is refused with the remedy") {
    const auto message = [](std::string_view scheme, std::string_view unit, const FloatFormat& output,
                            const ProductOrder& order = {}) {
        try {
            plan_of(scheme_by_name(scheme), find_unit(unit), order, 64, output);
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(message("bf16x9", int8_row, formats::fp32) ==
          "sm_90:wgmma.s8.s32: bf16x9 multiplies bf16 numbers into fp32 sums; take a row such as "
          "sm_90:wgmma.bf16.fp32, or ozaki1 on this one");
    CHECK(message("3xtf32", bf16_row, formats::fp32).find("sm_90:wgmma.tf32.fp32") != std::string::npos);
    CHECK(message("bf16x9", bf16_row, formats::fp64).find("ozaki1 or ozaki2") != std::string::npos);
    CHECK(message("ozaki1", "sm_80:mma.b1_xor.s32", formats::fp64).find("signed") != std::string::npos);
    CHECK(message("ozaki1", "sm_80:mma.u8.s32", formats::fp64).find("sm_90:mma.s8.s32") != std::string::npos);
    CHECK(message("ozaki2", "sm_90:wgmma.e4m3.fp32", formats::fp64).find("or ozaki1") != std::string::npos);
    CHECK(message("ozaki1", "sm_100:tcgen05.mxf4.e2m1.fp32", formats::fp64).find("exact") != std::string::npos);
    CHECK(message("ozaki1", int8_row, formats::fp64, {.split_k = 2}).find("--order") != std::string::npos);
    for (const char* name : {"bf16x4", "ozaki1:0", "ozaki1:33", "ozaki2:17", "bf16x9:2", "ozaki1:", "ozaki2:x"}) {
        CHECK_THROWS_AS(scheme_by_name(name), std::invalid_argument);
    }
}
