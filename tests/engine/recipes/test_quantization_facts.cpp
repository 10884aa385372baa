// What is known of the rules of scales: which exponents they give, what they saturate, and how much of normal numbers
// they keep. Signal-to-noise ratios are compared to the digits that are printed here, one more half of the last digit
// for the sample of 2^20 numbers; shares of 2^15 blocks within three standard deviations of the sample.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/tensor/random.hpp"
#include "softfloat/quantization/quantize.hpp"
#include "softfloat/quantization/scale_of_block.hpp"

namespace {

using namespace ulp;

constexpr std::int64_t sample = 1 << 20;

/// Normal numbers; with outliers one in 16 is ten times as large.
std::vector<float> normals(bool outliers = false) {
    Random random(2);
    std::vector<float> x(static_cast<std::size_t>(sample));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool outlier = outliers && random.below(16) == 0;
        x[i] = static_cast<float>(random.normal() * (outlier ? 10 : 1));
    }
    return x;
}

struct Kept {
    double decibel;
    double alpha;      // <q, x> / <x, x>
    double saturated;  // share of blocks with an element beyond the largest
    std::vector<float> scales;
};

Kept kept(const Quantization& how, std::vector<float> x) {
    const Quantized q = quantize(how, MatrixView(x.data(), 1, sample));
    const std::vector<float> back = dequantize(q);
    // A transform is orthogonal: what is lost of y is lost of x.
    if (how.transform.size > 0) hadamard_transform(x.data(), sample, hadamard_signs(how.transform, 0, 0));
    double signal = 0, noise = 0, both = 0, beyond = 0;
    for (std::int64_t first = 0; first < sample; first += how.block.k) {
        bool over = false;
        for (std::int64_t j = first; j < first + how.block.k; ++j) {
            const auto i = static_cast<std::size_t>(j);
            const double number = x[i], element = back[i];
            signal += number * number;
            noise += (element - number) * (element - number);
            both += element * number;
            over = over || std::abs(x[i] / q.scale(0, first / how.block.k)) > largest_number(how.element);
        }
        beyond += over ? 1 : 0;
    }
    return {10 * std::log10(signal / noise), both / signal, beyond * how.block.k / static_cast<double>(sample),
            q.scales};
}

bool near(double value, double printed, double last_digit) { return std::abs(value - printed) <= last_digit; }

/// The scale of a block that is this one number.
std::vector<float> scales_of(const char* name, const FloatFormat& element, const std::vector<float>& x) {
    Quantization how = quantization_by_name(name);
    how.element = element;
    how.block = {1, 1};
    return quantize(how, MatrixView(x.data(), 1, static_cast<std::int64_t>(x.size()))).scales;
}

}  // namespace

TEST_CASE("for every significand: scales rounded up are the exact ceiling, scales cut differ above M's significand") {
    struct Element {
        FloatFormat format;
        float significand;  // of the largest element
        int emax;
    };
    for (const Element& element : {Element{formats::e4m3, 1.75F, 8}, Element{formats::e2m1, 1.5F, 2}}) {
        std::int64_t wrong = 0;
        constexpr std::size_t piece = 1 << 16;
        for (std::size_t first = 0; first < std::size_t{1} << 23; first += piece) {
            std::vector<float> x(piece);
            for (std::size_t i = 0; i < piece; ++i) x[i] = 1.0F + static_cast<float>(first + i) * 0x1p-23F;
            const std::vector<float> up = scales_of("mxfp8_nv", element.format, x);
            const std::vector<float> cut = scales_of("mxfp8", element.format, x);
            const std::vector<float> power = scales_of("te_block_1x128", element.format, x);
            for (std::size_t i = 0; i < piece; ++i) {
                const float floor = std::ldexp(1.0F, -element.emax);
                const float ceiling = x[i] > element.significand ? 2 * floor : floor;
                wrong += up[i] == ceiling && power[i] == ceiling && cut[i] == floor ? 0 : 1;
            }
        }
        CHECK(wrong == 0);
        // What the cut scale saturates: at most 1 - M / 2^(emax + 1).
        const float top = std::nextafter(2.0F, 0.0F);
        Quantization how = quantization_by_name("mxfp8");
        how.element = element.format;
        const std::vector<float> block(32, top);
        const float back = dequantize(quantize(how, MatrixView(block.data(), 1, 32)))[0];
        CHECK(back == element.significand);
        CHECK(1 - back / 2 == (element.emax == 8 ? 0.125F : 0.25F));
    }
}

TEST_CASE(
    "blocks of 16 with fp32 scales: E2M1 shrinks normal numbers, INT4 does not, outliers and a transform turn it") {
    Quantization e2m1{.element = formats::e2m1, .block = {1, 16}};
    Quantization int4{.element = formats::e1m2, .block = {1, 16}};
    const Kept plain = kept(e2m1, normals());
    CHECK(near(plain.decibel, 20.5, 0.1));
    CHECK(near(plain.alpha, 0.9959, 0.0002));
    const Kept plain4 = kept(int4, normals());
    CHECK(near(plain4.decibel, 21.4, 0.1));
    CHECK(near(plain4.alpha, 1.0006, 0.0002));
    CHECK(near(kept(e2m1, normals(true)).decibel, 20.8, 0.1));
    CHECK(near(kept(int4, normals(true)).decibel, 17.5, 0.1));
    e2m1.transform = int4.transform = {16, HadamardSigns::fixed};
    CHECK(near(kept(e2m1, normals(true)).decibel, 19.6, 0.1));
    CHECK(near(kept(int4, normals(true)).decibel, 23.7, 0.1));
}

TEST_CASE("MX blocks of normal numbers: in E4M3 scales rounded up keep most, in E2M1 the even ones") {
    const std::vector<float> x = normals();
    const Kept floor8 = kept(quantization_by_name("mxfp8"), x);
    CHECK(near(floor8.decibel, 30.65, 0.02));
    CHECK(near(floor8.saturated, 0.167, 0.007));
    CHECK(near(kept(quantization_by_name("mxfp8_even"), x).decibel, 31.19, 0.02));
    CHECK(near(kept(quantization_by_name("mxfp8_nv"), x).decibel, 31.52, 0.02));
    const Kept floor4 = kept(quantization_by_name("mxfp4"), x);
    CHECK(near(floor4.decibel, 18.79, 0.02));
    CHECK(near(floor4.saturated, 0.294, 0.008));
    CHECK(near(kept(quantization_by_name("mxfp4_nv"), x).decibel, 18.75, 0.02));
    CHECK(near(kept(quantization_by_name("mxfp4_even"), x).decibel, 19.03, 0.02));
}

TEST_CASE("four over six maps 45 % of normal blocks to 4, and leaves 0.834 of the squared error") {
    const std::vector<float> x = normals();
    Quantization six = quantization_by_name("nvfp4_4over6");
    const Kept both = kept(six, x);
    six.candidate = {};
    const Kept one = kept(six, x);
    int to_four = 0;
    for (std::size_t i = 0; i < both.scales.size(); ++i) to_four += both.scales[i] == one.scales[i] ? 0 : 1;
    CHECK(near(to_four / static_cast<double>(both.scales.size()), 0.45, 0.01));
    CHECK(near(std::pow(10, (one.decibel - both.decibel) / 10), 0.834, 0.003));
}

TEST_CASE("stochastic rounding of normal numbers to E2M1: twice the squared error, no shrinkage") {
    Quantization how{.element = formats::e2m1, .block = {1, 16}};
    const Kept nearest = kept(how, normals());
    how.elements.rounding = {.rounding = Rounding::stochastic, .saturate = true, .random_bits = 32};
    const Kept by_chance = kept(how, normals());
    CHECK(near(by_chance.alpha, 1.000, 0.001));
    CHECK(near(std::pow(10, (nearest.decibel - by_chance.decibel) / 10), 2.02, 0.02));
}
