// Block-scaled instructions on dot products worked by hand, and the unscaled ones as their special case.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "tests/softfloat/matrix_units/bits.hpp"

namespace {

using Codes = std::array<std::uint32_t, 64>;
using Scales = std::array<std::uint32_t, 4>;

std::uint32_t dot(const char* key, const Codes& a, const Codes& b, const Scales& x, const Scales& y, float c) {
    const auto& model = ulp::unit_model<ulp::BlockScaledModel>(key);
    return ulp::block_scaled_dot(model, a.data(), b.data(), x.data(), y.data(), bits(c));
}

constexpr std::uint32_t e8m0(int exponent) { return static_cast<std::uint32_t>(exponent + 127); }

}  // namespace

TEST_CASE("E8M0 scales move the exponents of a fused group") {
    const char* key = "sm_100:tcgen05.mxf8f6f4.e4m3.fp32";
    const Codes one{0x38};
    const Codes minus_one{0xB8};
    CHECK(dot(key, one, one, {e8m0(3)}, {e8m0(-1)}, 1.0F) == bits(5.0F));
    // Beside c = 1, 2^-25 is the last place that alignment keeps.
    CHECK(dot(key, minus_one, one, {e8m0(-25)}, {e8m0(0)}, 1.0F) == bits(0x1.fffffep-1F));
    CHECK(dot(key, minus_one, one, {e8m0(-26)}, {e8m0(0)}, 1.0F) == bits(1.0F));
    CHECK(dot(key, one, one, {0xFF}, {e8m0(0)}, 1.0F) == 0x7FFFFFFF);
    CHECK(dot(key, {0x7F}, one, {e8m0(0)}, {e8m0(0)}, 1.0F) == 0x7FFFFFFF);
}

TEST_CASE("with scales of one an instruction is the unscaled one") {
    const auto& scaled = ulp::unit_model<ulp::BlockScaledModel>("sm_100:tcgen05.mxf8f6f4.e4m3.fp32");
    const auto& plain = ulp::unit_model<ulp::TensorCoreModel>("sm_100:tcgen05.e4m3.fp32");
    const Scales ones{e8m0(0)};
    int different = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        const auto data = seed % 2 == 0 ? ulp::DataClass::ordinary : ulp::DataClass::full_range;
        const auto a = ulp::random_codes(plain.a_format, data, 32, 3 * seed);
        const auto b = ulp::random_codes(plain.b_format, data, 32, 3 * seed + 1);
        const std::uint32_t c = ulp::random_codes(ulp::formats::fp32, data, 1, 3 * seed + 2)[0];
        const std::uint32_t d = ulp::block_scaled_dot(scaled, a.data(), b.data(), ones.data(), ones.data(), c);
        different += d != ulp::chain_dot(plain, a.data(), b.data(), c, 32) ? 1 : 0;
    }
    CHECK(different == 0);
}

TEST_CASE("FP4 products are added exactly by sixteens, then scaled") {
    const char* nvf4 = "sm_120:mma.nvf4.e2m1.fp32";
    Codes sixes{};
    Codes halves{};
    for (std::size_t k = 0; k < 64; ++k) sixes[k] = 0x7;
    for (std::size_t k = 0; k < 16; ++k) halves[k] = 0x1;
    const std::uint32_t one = 0x38;  // E4M3
    const std::uint32_t one_and_half = 0x3C;
    CHECK(dot(nvf4, sixes, sixes, {one, one, one, one}, {one, one, one, one}, 0.5F) ==
          bits(64 * 36.5F - 64 * 0.5F + 0.5F));
    CHECK(dot(nvf4, sixes, halves, {one_and_half, one, one, one}, {one_and_half, one, one, one}, 0) ==
          bits(48 * 2.25F));
    // The sign of an E4M3 scale does not count.
    CHECK(dot(nvf4, sixes, halves, {one_and_half | 0x80, one, one, one}, {one_and_half, one, one, one}, 0) ==
          bits(108.0F));
    CHECK(dot(nvf4, sixes, halves, {0x7F, one, one, one}, {one, one, one, one}, 0) == 0x7FFFFFFF);
}

TEST_CASE("FP4 terms are aligned at 35 fraction bits") {
    const char* mxf4 = "sm_100:tcgen05.mxf4.e2m1.fp32";
    Codes minus_half{0x9};
    const Codes half{0x1};
    // -1/4 * 2^(s), beside c = 2^20: the last place kept is 2^-15.
    CHECK(dot(mxf4, minus_half, half, {e8m0(-13), e8m0(-13)}, {e8m0(0), e8m0(0)}, 0x1p20F) == bits(0x1.fffffep19F));
    CHECK(dot(mxf4, minus_half, half, {e8m0(-14), e8m0(-14)}, {e8m0(0), e8m0(0)}, 0x1p20F) == bits(0x1p20F));
    CHECK_THROWS_AS((void)ulp::find_unit("sm_90:mma.nvf4.e2m1.fp32"), std::invalid_argument);
}

TEST_CASE(
    "whole block-scaled products chain the instruction over k, the last one filled up, scales of one by default") {
    for (const auto& unit : ulp::rows_of<ulp::BlockScaledModel>()) {
        const ulp::BlockScaledModel& model = unit.model;
        CAPTURE(unit.row.key());
        const std::int64_t m = 3, n = 4, k = 80, step = model.unscaled.instruction_k;
        const std::int64_t blocks = (k + model.scale_block - 1) / model.scale_block;
        const auto containers = [](const ulp::FloatFormat& format, const std::vector<std::uint32_t>& codes) {
            std::vector<float> values;
            for (const auto code : codes) values.push_back(ulp::in_fp32_container(format, code));
            return values;
        };
        const auto a_codes = ulp::random_codes(model.unscaled.a_format, ulp::DataClass::wide, m * k, 1);
        const auto b_codes = ulp::random_codes(model.unscaled.b_format, ulp::DataClass::wide, k * n, 2);
        std::vector<std::uint32_t> x_codes, y_codes;
        for (std::int64_t i = 0; i < m * blocks; ++i) x_codes.push_back(static_cast<std::uint32_t>(60 + i));
        for (std::int64_t i = 0; i < blocks * n; ++i) y_codes.push_back(static_cast<std::uint32_t>(50 + 2 * i));
        const auto a = containers(model.unscaled.a_format, a_codes);
        const auto b = containers(model.unscaled.b_format, b_codes);
        const auto x = containers(model.scale_format, x_codes);
        const auto y = containers(model.scale_format, y_codes);
        std::vector<float> d(static_cast<std::size_t>(m * n));
        ulp::BlockScaledProblem problem{
            {{a.data(), m, k}, {b.data(), k, n}, {}, {d.data(), m, n}}, {x.data(), m, blocks}, {y.data(), blocks, n}};
        ulp::gemm(model, problem);
        const std::uint32_t one = ulp::operand_code(model.scale_format, 1.0F);
        const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
        const auto element = [&](std::int64_t i, std::int64_t j, bool scaled) {
            std::uint32_t sum = 0;
            for (std::int64_t first = 0; first < k; first += step) {
                Codes u{}, v{};
                Scales s{one, one, one, one}, t = s;
                for (std::int64_t l = 0; l < step && first + l < k; ++l) {
                    u[at(l)] = a_codes[at(i * k + first + l)];
                    v[at(l)] = b_codes[at((first + l) * n + j)];
                    const std::int64_t block = (first + l) / model.scale_block;
                    if (!scaled) continue;
                    s[at(l / model.scale_block)] = x_codes[at(i * blocks + block)];
                    t[at(l / model.scale_block)] = y_codes[at(block * n + j)];
                }
                sum = ulp::block_scaled_dot(model, u.data(), v.data(), s.data(), t.data(), sum);
            }
            return sum;
        };
        int different = 0;
        for (const bool scaled : {true, false}) {
            for (std::int64_t i = 0; i < m * n; ++i)
                different += bits(d[at(i)]) != element(i / n, i % n, scaled) ? 1 : 0;
            CHECK(different == 0);
            problem.a_scales = problem.b_scales = {};
            ulp::gemm(model, problem);
        }
        problem.b_scales = {y.data(), blocks - 1, n};
        CHECK_THROWS_WITH_AS(ulp::gemm(model, problem), doctest::Contains("the scales of B are "),
                             std::invalid_argument);
        // A scale has no sign, and is a number of its format.
        for (const float bad : {-1.0F, -0.0F, 0.3F, std::numeric_limits<float>::infinity()}) {
            std::vector<float> scales(y.size(), 1.0F);
            const std::size_t place = std::signbit(bad) ? 0 : at(blocks * n - 1);
            scales[place] = bad;
            problem.b_scales = {scales.data(), blocks, n};
            CHECK_THROWS_WITH_AS(ulp::gemm(model, problem), doctest::Contains("not a scale in "),
                                 std::invalid_argument);
            scales[place] = 1, scales.back() = std::numeric_limits<float>::quiet_NaN();
            ulp::gemm(model, problem);
            CHECK(std::isnan(d[at(n - 1)]));
        }
        problem.b_scales = {};
        problem.product.a.data = nullptr;
        CHECK_THROWS_AS(ulp::gemm(model, problem), std::invalid_argument);
    }
}
