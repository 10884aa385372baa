// MX and NVFP4: worked examples, every code under every scale, and random blocks against the oracle.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "softfloat/array/context.hpp"
#include "softfloat/float.hpp"
#include "softfloat/quantization/block_scaled.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/oracle.hpp"

namespace ulp::test {
namespace {

struct Blocks {
    std::vector<std::uint8_t> scales;
    std::vector<std::uint8_t> elements;
};

Blocks quantized(const FloatFormat& element, std::vector<float> values, const Context& options = {}) {
    values.resize((values.size() + 31) / 32 * 32);
    Blocks blocks{std::vector<std::uint8_t>(values.size() / 32), std::vector<std::uint8_t>(values.size())};
    quantize_mx(element, values, blocks.scales, blocks.elements, options);
    return blocks;
}

std::vector<float> dequantized(const FloatFormat& element, const Blocks& blocks) {
    std::vector<float> values(blocks.elements.size());
    dequantize_mx(element, blocks.scales, blocks.elements, values);
    return values;
}

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

const std::vector<FloatFormat> elements{formats::e4m3, formats::e5m2, formats::e3m2, formats::e2m3, formats::e2m1};

}  // namespace

TEST_CASE("MXFP4, worked by hand") {
    // Largest 7 = 1.75 * 2^2, E2M1's largest power of two is 2^2: the scale is 2^0. 7 is beyond 6; 2.5 and 5 are ties.
    const Blocks blocks = quantized(formats::e2m1, {7, -0.5F, 2.5F, 5, 0.25F, -0.76F, 0, -6.5F});
    CHECK(blocks.scales == std::vector<std::uint8_t>{127});
    const std::vector<std::uint8_t> expected{0x7, 0x9, 0x4, 0x6, 0x0, 0xA, 0x0, 0xF};
    CHECK(std::vector<std::uint8_t>(blocks.elements.begin(), blocks.elements.begin() + 8) == expected);
    const auto back = dequantized(formats::e2m1, blocks);
    CHECK(std::vector<float>(back.begin(), back.begin() + 4) == std::vector<float>{6, -0.5F, 2, 4});
}

TEST_CASE("MXFP8 and MXFP6, worked by hand") {
    // E4M3: 1000 = 1.95 * 2^9 and emax 8: scale 2, 1000 / 2 = 500 is beyond 448; 3 / 2 = 1.5 = 0 0111 100.
    Blocks blocks = quantized(formats::e4m3, {1000, 3});
    CHECK(blocks.scales[0] == 128);
    CHECK(blocks.elements[0] == 0x7E);
    CHECK(blocks.elements[1] == 0x3C);
    // E5M2: emax 15: scale 2^(9-15); 3 * 64 = 192 = 1.5 * 2^7.
    blocks = quantized(formats::e5m2, {1000, 3});
    CHECK(blocks.scales[0] == 127 - 6);
    CHECK(blocks.elements[1] == (22 << 2 | 2));
    // E3M2: emax 4: 0.1 = 1.6 * 2^-4, scale 2^-8; 0.1 * 256 = 25.6 rounds to 24 = 1.5 * 2^4.
    blocks = quantized(formats::e3m2, {0.1F});
    CHECK(blocks.scales[0] == 127 - 8);
    CHECK(blocks.elements[0] == (7 << 2 | 2));
    // E2M3: emax 2: 1 = 2^0, scale 2^-2; 1 * 4 = 4 = 1.0 * 2^2.
    blocks = quantized(formats::e2m3, {1});
    CHECK(blocks.scales[0] == 125);
    CHECK(blocks.elements[0] == 3 << 3);
}

TEST_CASE("MX blocks of zeros, of tiny and huge numbers, with NaN and infinity") {
    CHECK(quantized(formats::e4m3, {0.0F, -0.0F}).scales[0] == 0);
    CHECK(quantized(formats::e4m3, {0.0F, -0.0F}).elements[1] == 0x80);
    // 2^-149 needs the scale 2^-157; the smallest is 2^-127: 2^-22 is below half of E4M3's 2^-9.
    const Blocks tiny = quantized(formats::e4m3, {0x1p-149F, 0x1p-120F});
    CHECK(tiny.scales[0] == 0);
    CHECK(tiny.elements[0] == 0);
    CHECK(tiny.elements[1] == static_cast<std::uint8_t>((7 + 7) << 3));
    const Blocks huge = quantized(formats::e2m1, {std::numeric_limits<float>::max()});
    CHECK(huge.scales[0] == 127 + 125);
    CHECK(huge.elements[0] == 0x7);
    for (const float special : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        const Blocks blocks = quantized(formats::e2m1, {1, special});
        CHECK(blocks.scales[0] == 0xFF);
        for (const float value : dequantized(formats::e2m1, blocks)) CHECK(bits_of(value) == 0x7FC00000);
    }
}

TEST_CASE("every element under every scale means their product, and quantises back to itself") {
    for (const FloatFormat& element : elements) {
        const Oracle oracle(element);
        const Oracle fp32_oracle(formats::fp32);
        int wrong = 0;
        for (int scale = 0; scale < 255; ++scale) {
            Blocks blocks;
            for (const std::uint64_t code : all_codes(element)) {
                // The first of each block holds the largest element, so that quantising finds the scale again.
                if (blocks.elements.size() % 32 == 0) {
                    blocks.elements.push_back(static_cast<std::uint8_t>(oracle.last_finite()));
                    blocks.scales.push_back(static_cast<std::uint8_t>(scale));
                }
                blocks.elements.push_back(static_cast<std::uint8_t>(code));
            }
            blocks.elements.resize((blocks.elements.size() + 31) / 32 * 32);
            const auto values = dequantized(element, blocks);
            bool exact = true;
            for (std::size_t i = 0; i < values.size(); ++i) {
                Number product = oracle.number(blocks.elements[i]);
                product.exponent += scale - 127;
                const Answer expected = fp32_oracle.round(fp32_oracle.located(product), Rounding::nearest_even);
                if (bits_of(values[i]) != expected.bits) ++wrong;
                exact = exact && product.kind == Number::Kind::finite && expected.flags == 0;
            }
            if (!exact) continue;  // NaN among the elements, or beyond fp32
            const Blocks again = quantized(element, values);
            if (again.scales != blocks.scales || again.elements != blocks.elements) ++wrong;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("random MX blocks equal the specification's formula in the oracle's arithmetic") {
    const Oracle fp32_oracle(formats::fp32);
    RandomWords random(61);
    for (const FloatFormat& element : elements) {
        const Oracle oracle(element);
        int wrong = 0;
        for (int block = 0; block < 400; ++block) {
            std::vector<float> values(32);
            float largest = 0;
            for (float& value : values) {
                value = std::ldexp(static_cast<float>(random.below(1 << 24)) - 0x1p23F,
                                   static_cast<int>(random.below(20)) - 30 + block % 90 - 45);
                largest = std::max(largest, std::fabs(value));
            }
            const Context options{.rounding = block % 2 == 0 ? Rounding::nearest_even : Rounding::toward_zero,
                                  .saturate = true};
            const Blocks blocks = quantized(element, values, options);
            const int exponent = std::ilogb(largest) - element.emax();
            if (blocks.scales[0] != exponent + 127) ++wrong;
            for (std::size_t i = 0; i < 32; ++i) {
                Number x = fp32_oracle.number(bits_of(values[i]));
                x.exponent -= exponent;
                if (blocks.elements[i] != oracle.round(oracle.located(x), options).bits) ++wrong;
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("NVFP4, worked by hand") {
    // The largest number is 2688 = 6 * 448: the tensor scale is 1. First block: 2688 / 6 = 448. Second: 3 / 6 = 0.5.
    std::vector<float> values(32);
    values[0] = 2688;
    values[1] = -448;
    values[2] = 1000;  // 1000 / 448 = 2.23: 2
    values[16] = 3;
    values[17] = 0.3F;  // 0.3 / 0.5 = 0.6: 0.5
    std::vector<std::uint8_t> scales(2);
    std::vector<std::uint8_t> codes(32);
    const float tensor_scale = quantize_nvfp4(values, scales, codes);
    CHECK(bits_of(tensor_scale) == bits_of(1.0F));
    CHECK(scales == std::vector<std::uint8_t>{0x7E, 0x30});
    CHECK(codes[0] == 0x7);
    CHECK(codes[1] == 0xA);
    CHECK(codes[2] == 0x4);
    CHECK(codes[16] == 0x7);
    CHECK(codes[17] == 0x1);
    std::vector<float> back(32);
    dequantize_nvfp4(tensor_scale, scales, codes, back);
    CHECK(back[0] == 2688);
    CHECK(back[1] == -448);
    CHECK(back[2] == 896);
    CHECK(back[16] == 3);
    CHECK(back[17] == 0.25F);
}

TEST_CASE("NVFP4 of zeros, of blocks too small for a scale, with NaN") {
    std::vector<float> values(48);
    std::vector<std::uint8_t> scales(3);
    std::vector<std::uint8_t> codes(48);
    CHECK(quantize_nvfp4(values, scales, codes) == 1.0F);
    CHECK(scales == std::vector<std::uint8_t>{0, 0, 0});
    values[0] = 1;
    values[16] = 1e-8F;  // far below 2^-10 of the largest scale
    values[32] = std::numeric_limits<float>::quiet_NaN();
    const float tensor_scale = quantize_nvfp4(values, scales, codes);
    CHECK(scales == std::vector<std::uint8_t>{0x7E, 0x00, 0x7F});
    CHECK(codes[16] == 0);
    std::vector<float> back(48);
    dequantize_nvfp4(tensor_scale, scales, codes, back);
    CHECK(std::fabs(back[0] - 1) <= 0x1p-23F);  // three roundings of the scales, each below half a unit
    CHECK(back[16] == 0);
    CHECK(std::isnan(back[32]));
}

TEST_CASE("NVFP4 where the factor 2688 / largest would overflow, and at the ends of fp32's range") {
    std::vector<float> values(16);
    std::vector<std::uint8_t> scales(1);
    std::vector<std::uint8_t> codes(16);
    std::vector<float> back(16);
    const auto round_trip = [&](float amax) {
        values[0] = amax;
        values[1] = -amax / 2;
        const float tensor_scale = quantize_nvfp4(values, scales, codes);
        CHECK(std::isfinite(tensor_scale));
        CHECK(tensor_scale > 0);
        dequantize_nvfp4(tensor_scale, scales, codes, back);
        for (const float x : back) CHECK_FALSE(std::isnan(x));
        return tensor_scale;
    };
    constexpr float largest = std::numeric_limits<float>::max();
    // 2688 / 7.8e-36 is beyond fp32: the factor is its largest number, 1 / that is 2^-128. 7.8e-36 / 6 * factor = 442,
    // which E4M3 rounds to 448, and 7.8e-36 / (448 * 2^-128) = 5.92 is 6 in E2M1.
    CHECK(round_trip(7.8e-36F) == 0x1p-128F);
    CHECK(scales[0] == 0x7E);
    CHECK(codes[0] == 0x7);
    CHECK(codes[1] == 0xD);
    CHECK(back[0] == 2688 * 0x1p-128F);
    // 8e-36 is the first of the two that did not overflow.
    CHECK(round_trip(8e-36F) > 0x1p-128F);
    CHECK(codes[0] == 0x7);
    // 1e-40 / 6 * factor = 0.0057, in E4M3 3 * 2^-9; the element's factor overflows, too, and the element is zero.
    CHECK(round_trip(1e-40F) == 0x1p-128F);
    CHECK(scales[0] == 0x03);
    CHECK(codes[0] == 0);
    CHECK(back[0] == 0);
    CHECK(round_trip(0) == 1);
    CHECK(back[0] == 0);
    round_trip(largest);
    CHECK(scales[0] == 0x7E);
    CHECK(codes[0] == 0x7);
    CHECK(codes[1] == 0xD);
}

/// The mean of the elements where all values are 0.3 times the scale, which E2M1 has between 0 and 0.5: three of five
/// become 0.5.
TEST_CASE("stochastic rounding draws a number for each element of a block-scaled array") {
    constexpr std::size_t count = 32 * 512;
    const Context options{.rounding = Rounding::stochastic, .random_bits = 16, .seed = 5, .first = 3};
    std::vector<float> values(count, 0.3F);
    for (std::size_t i = 0; i < count; i += 16) values[i] = 6;  // the scales are 1, or nearly
    std::vector<std::uint8_t> codes(count);
    std::vector<std::uint8_t> scales(count / 32);
    const auto mean = [&] {
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += i % 16 != 0 && codes[i] == 1 ? 0.5 : 0;
        return sum / (count / 16.0 * 15);
    };
    // The standard deviation of one is 0.245, of the mean of 15,360 it is 0.002: six of them.
    const auto near = [](double found, double expected) { return std::fabs(found - expected) < 0.012; };
    quantize_mx(formats::e2m1, values, scales, codes, options);
    CHECK(near(mean(), 0.3));
    for (std::size_t i = 0; i < count; ++i) {
        Context scalar = scalar_context(options, i);
        CHECK(codes[i] == convert<e2m1>(fp32(values[i]), scalar).bits());
    }
    // A piece of the array rounds as it does in the whole.
    const std::vector<std::uint8_t> whole = codes;
    Context later = options;
    later.first += 64;
    quantize_mx(formats::e2m1, std::span(values).first(64), std::span(scales).first(2), std::span(codes).first(64),
                later);
    CHECK(std::equal(codes.begin(), codes.begin() + 64, whole.begin() + 64));

    scales.resize(count / 16);
    const float tensor_scale = quantize_nvfp4(values, scales, codes, options);
    CHECK(near(mean() * tensor_scale * 448, 0.3));
    // The mistake: one number for all elements.
    const Context one = scalar_context(options, 0);
    for (std::size_t i = 0; i < count; ++i) {
        Context scalar = one;
        codes[i] = convert<e2m1>(fp32(values[i]), scalar).bits();
    }
    CHECK_FALSE(near(mean(), 0.3));

    Context none = options;
    none.random_bits = 0;
    CHECK_THROWS_AS(quantize_mx(formats::e2m1, std::span(values).first(32), std::span(scales).first(1),
                                std::span(codes).first(32), none),
                    std::invalid_argument);
    CHECK_THROWS_AS(quantize_nvfp4(values, scales, codes, none), std::invalid_argument);
}

TEST_CASE("every NVFP4 element under every scale decodes to their product and one rounding") {
    const Oracle element(formats::e2m1);
    const Oracle scale_oracle(formats::e4m3);
    const Oracle fp32_oracle(formats::fp32);
    const float tensor_scale = 0x1.23456Ap-9F;
    int wrong = 0;
    for (std::uint64_t scale = 0; scale < 0x7F; ++scale) {
        std::vector<std::uint8_t> codes(16);
        for (std::size_t i = 0; i < 16; ++i) codes[i] = static_cast<std::uint8_t>(i);
        const std::vector<std::uint8_t> scales{static_cast<std::uint8_t>(scale)};
        std::vector<float> values(16);
        dequantize_nvfp4(tensor_scale, scales, codes, values);
        for (std::size_t i = 0; i < 16; ++i) {
            const Number s = scale_oracle.number(scale);
            const Number e = element.number(codes[i]);
            const Number t = fp32_oracle.number(bits_of(tensor_scale));
            const Number product{Number::Kind::finite, e.negative, s.significand * e.significand * t.significand,
                                 s.exponent + e.exponent + t.exponent};
            const Answer expected = fp32_oracle.round(fp32_oracle.located(product), Rounding::nearest_even);
            if (bits_of(values[i]) != expected.bits) ++wrong;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("spans that do not fit together are refused with the numbers") {
    std::vector<float> values(33);
    std::vector<std::uint8_t> scales(1);
    std::vector<std::uint8_t> codes(33);
    CHECK_THROWS_WITH_AS(quantize_mx(formats::e2m1, values, scales, codes),
                         "33 values do not fill blocks of 32; pad them with zeros", std::invalid_argument);
    values.resize(32);
    CHECK_THROWS_AS(quantize_mx(formats::e2m1, values, scales, codes), std::invalid_argument);
    codes.resize(32);
    scales.resize(2);
    CHECK_THROWS_AS(dequantize_mx(formats::e2m1, scales, codes, values), std::invalid_argument);
    CHECK_THROWS_WITH_AS(quantize_nvfp4(values, std::span(scales).first(1), codes),
                         "there are 1 scales for 2 blocks of 16; give one for each block", std::invalid_argument);
}

}  // namespace ulp::test
