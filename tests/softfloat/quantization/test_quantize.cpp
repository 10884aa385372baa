// Every rule against its formula in exact rational numbers (reference.hpp): scales and elements, special blocks, other
// shapes of blocks, transforms, stochastic rounding, and mutants of each row.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "softfloat/quantization/fp64_operands.hpp"
#include "softfloat/quantization/layout.hpp"
#include "softfloat/quantization/quantize.hpp"
#include "softfloat/quantization/scale_of_block.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/philox.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/quantization/reference.hpp"

namespace ulp::test {
namespace {

using Rule = std::function<Block(const Numbers& block, const Rational& tensor)>;

/// A row, its formula, and the magnitudes that it is tried with.
struct Case {
    const char* name;
    int block;
    Rule rule;
    Rational tensor_maximum = 0;  // S = this / largest; 0: none
    int least_exponent = -12, most_exponent = 12;
};

std::vector<Case> cases() {
    const auto plain = [](auto rule, const auto&... more) {
        return [=](const Numbers& x, const Rational&) { return rule(x, more...); };
    };
    return {
        {"mxfp8", 32, plain(ocp_floor, grids::e4m3, 8)},
        {"mxfp8_e5m2", 32, plain(ocp_floor, grids::e5m2, 15)},
        {"mxfp6_e3m2", 32, plain(ocp_floor, grids::e3m2, 4)},
        {"mxfp6_e2m3", 32, plain(ocp_floor, grids::e2m3, 2)},
        {"mxfp4", 32, plain(ocp_floor, grids::e2m1, 2), 0, -130, -110},
        {"mxfp8_ceil", 32, plain(ocp_ceil, grids::e4m3, 8)},
        {"mxfp4_ceil", 32, plain(ocp_ceil, grids::e2m1, 2)},
        {"mxfp8_even", 32, plain(ocp_even, grids::e4m3, 8)},
        {"mxfp4_even", 32, plain(ocp_even, grids::e2m1, 2)},
        {"mxfp8_nv", 32, plain(rounded_up, grids::e4m3)},
        {"mxfp8_nv", 32, plain(rounded_up, grids::e4m3), 0, -130, -100},
        {"mxfp4_nv", 32, plain(rounded_up, grids::e2m1)},
        {"nvfp4", 16, [](const Numbers& x, const Rational& t) { return nvfp4_paper(x, t); }, 2688},
        {"nvfp4_te", 16, [](const Numbers& x, const Rational& t) { return nvfp4_te(x, t); }, 2688},
        {"nvfp4", 16, [](const Numbers& x, const Rational& t) { return nvfp4_paper(x, t); }, 2688, -140, -118},
        {"nvfp4_te", 16, [](const Numbers& x, const Rational& t) { return nvfp4_te(x, t); }, 2688, -140, -118},
        {"nvfp4_4over6", 16, [](const Numbers& x, const Rational& t) { return four_over_six(x, t, true); }, 1536},
        {"nvfp4_4over6_mae", 16, [](const Numbers& x, const Rational& t) { return four_over_six(x, t, false); }, 1536},
        {"te_block_1x128", 128, plain(te_power_of_two, grids::e4m3)},
        {"deepseek_1x128", 128, plain(deepseek)},
        {"deepseek_1x128", 128, plain(deepseek), 0, -30, -8},
        {"ao_rowwise", 256, plain(torchao, grids::e4m3, true)}};
}

/// Numbers whose binades differ from block to block, every other line on bf16's grid, where ties are.
std::vector<float> operand(std::size_t lines, std::size_t k, std::size_t block, int least, int most,
                           std::uint64_t seed) {
    RandomWords random(seed);
    std::vector<float> x(lines * k);
    int binade = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % block == 0) binade = least + static_cast<int>(random.below(static_cast<std::uint64_t>(most - least)));
        const std::uint64_t word = random.next();
        const float significand = std::ldexp(static_cast<float>(word % (1 << 24)) - 0x1p23F, -23);
        x[i] = std::ldexp(significand, binade - static_cast<int>(word >> 40) % 3);
        if (i / k % 2 == 1) x[i] = round_to(formats::bf16, x[i]);
    }
    return x;
}

Numbers exact(const float* x, std::size_t count) {
    Numbers numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(test::exact(x[i]));
    return numbers;
}

/// How many scales and elements of the operand differ from the rule's.
int different(const Quantized& q, const std::vector<float>& x, const Case& c) {
    const auto block = static_cast<std::size_t>(c.block);
    const Rational tensor = largest_of(exact(x.data(), x.size()));
    int wrong = 0;
    if (c.tensor_maximum != 0) wrong += test::exact(q.tensor_scale) == tensor_scale(c.tensor_maximum, tensor) ? 0 : 1;
    for (std::size_t first = 0; first < x.size(); first += block) {
        const Block expected = c.rule(exact(x.data() + first, block), tensor);
        wrong += test::exact(q.scales[first / block]) == expected.scale ? 0 : 1;
        for (std::size_t i = 0; i < block; ++i) {
            wrong += test::exact(q.numbers[first + i]) == expected.elements[i] ? 0 : 1;
        }
    }
    return wrong;
}

Quantized quantized(const Quantization& how, const std::vector<float>& x, std::size_t lines,
                    const QuantizedUse& use = {}) {
    const auto rows = static_cast<std::int64_t>(lines);
    return quantize(how, MatrixView(x.data(), rows, static_cast<std::int64_t>(x.size()) / rows), use);
}

constexpr std::size_t lines = 16, width = 256;

}  // namespace

TEST_CASE("scales and elements of each rule are those of its formula") {
    for (const Case& c : cases()) {
        CAPTURE(std::string(c.name));
        const auto block = static_cast<std::size_t>(c.block);
        const std::vector<float> x = operand(lines, width, block, c.least_exponent, c.most_exponent, 7);
        CHECK(different(quantized(quantization_by_name(c.name), x, lines), x, c) == 0);
    }
}

TEST_CASE("a scale by the exponent is a power of two within E8M0, over fp32's whole range") {
    for (const auto& [name, up] : {std::pair{"mxfp8", false}, std::pair{"mxfp8_ceil", true}}) {
        ulp::Quantization how = ulp::quantization_by_name(name);
        how.block = {1, 1};
        std::vector<float> numbers;
        for (std::uint32_t field = 0; field < 255; ++field) {
            for (const std::uint32_t fraction : {0U, 1U, 0x400000U, 0x7FFFFFU}) {
                const float x = std::bit_cast<float>(field << 23 | fraction);
                if (x != 0) numbers.push_back(x);
            }
        }
        const auto count = static_cast<std::int64_t>(numbers.size());
        const ulp::Quantized q = ulp::quantize(how, ulp::MatrixView(numbers.data(), 1, count));
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const int below = std::ilogb(numbers[i]) - how.element.emax();
            const bool power = numbers[i] == std::ldexp(1.0F, std::ilogb(numbers[i]));
            const int exponent = below < -127 ? -127 : below + (up && !power ? 1 : 0);
            CAPTURE(numbers[i]);
            CHECK(q.scales[i] == std::ldexp(1.0F, exponent));
        }
    }
}

TEST_CASE("one scale for a whole operand") {
    struct Tensor {
        const char* name;
        Grid grid;
        int power;  // -1: Transformer Engine's rule
    };
    for (const Tensor& tensor :
         {Tensor{"te_current", grids::e4m3, -1}, Tensor{"te_current_e5m2", grids::e5m2, -1},
          Tensor{"ao_tensorwise", grids::e4m3, 0}, Tensor{"ao_tensorwise_power", grids::e4m3, 1}}) {
        const auto [name, grid, power] = tensor;
        CAPTURE(std::string(tensor.name));
        for (const int binade : {-60, 0, 60}) {
            const std::vector<float> x = operand(4, 64, 1, binade - 8, binade, 3);
            const Numbers numbers = exact(x.data(), x.size());
            const Block expected = power < 0 ? te_fp32(numbers, grid) : torchao(numbers, grid, power == 1);
            const Quantized q = quantized(quantization_by_name(name), x, 4);
            CHECK(q.scales.size() == 1);
            CHECK(test::exact(q.scales[0]) == expected.scale);
            CHECK(exact(q.numbers.data(), q.numbers.size()) == expected.elements);
            // By columns: the same numbers, in the order of memory.
            const Quantized columns = quantize(quantization_by_name(name), MatrixView(x.data(), 4, 64).transposed());
            CHECK(columns.numbers == q.numbers);
            CHECK(columns.elements()(5, 2) == q.elements()(2, 5));
        }
    }
}

TEST_CASE("NVFP4's two orders give other scales where ties are, and only there") {
    const auto different_scales = [](bool on_bf16) {
        int count = 0;
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            std::vector<float> x = operand(lines, width, 16, -4, 4, seed);
            if (on_bf16) std::ranges::transform(x, x.begin(), [](float v) { return round_to(formats::bf16, v); });
            const Quantized paper = quantized(quantization_by_name("nvfp4"), x, lines);
            const Quantized te = quantized(quantization_by_name("nvfp4_te"), x, lines);
            for (std::size_t i = 0; i < paper.scales.size(); ++i) count += paper.scales[i] == te.scales[i] ? 0 : 1;
        }
        return count;
    };
    CHECK(different_scales(true) > 0);
    CHECK(different_scales(false) == 0);
}

TEST_CASE("a block of 10, 20, 30, 40 is exact when its largest becomes 4") {
    std::vector<float> x(32, 0.0F);
    for (std::size_t i = 0; i < 4; ++i) x[i] = 10.0F * static_cast<float>(i + 1);
    x[16] = 256.0F * 6;  // so that S is 1
    const Quantized q = quantized(quantization_by_name("nvfp4_4over6"), x, 1);
    CHECK(q.tensor_scale == 1);
    CHECK(q.scales[0] == 10);
    CHECK(dequantize(q)[0] == 10);
    Quantization to_six = quantization_by_name("nvfp4_4over6");
    to_six.candidate = {};
    const Quantized six = quantized(to_six, x, 1);
    CHECK(six.scales[0] == 6.5F);
    float squares = 0;
    for (std::size_t i = 0; i < 4; ++i) squares += (dequantize(six)[i] - x[i]) * (dequantize(six)[i] - x[i]);
    CHECK(squares / 4 == doctest::Approx(4.33).epsilon(0.001));  // to the digits that are printed
    std::vector<float> both(64, 0.0F);                           // of two lines of a block the second decides
    std::copy_n(x.begin(), 4, both.begin() + 32);
    both[16] = x[16];
    Quantization of_two = quantization_by_name("nvfp4_4over6");
    of_two.block = {2, 16};
    CHECK(quantized(of_two, both, 2).scales[0] == 10);
    std::fill_n(x.begin(), 16, 0.0F);
    x[0] = 12;  // exact either way
    CHECK(quantized(quantization_by_name("nvfp4_4over6"), x, 1).scales[0] == 2);
}

TEST_CASE(
    "square blocks share a scale in both directions, so that an operand and its transpose have the same elements") {
    const std::vector<float> x = operand(40, 48, 1, -6, 6, 5);
    for (Quantization how : {quantization_by_name("nvfp4"), quantization_by_name("deepseek_128x128")}) {
        how.block = {16, 16};
        const Quantized q = quantize(how, MatrixView(x.data(), 40, 48));
        const Quantized t = quantize(how, MatrixView(x.data(), 40, 48).transposed());
        CHECK(q.scales.size() == 9);
        int wrong = 0;
        for (std::int64_t i = 0; i < 40; ++i) {
            for (std::int64_t j = 0; j < 48; ++j) wrong += q.elements()(i, j) == t.elements()(j, i) ? 0 : 1;
        }
        CHECK(wrong == 0);
        for (std::int64_t i = 0; i < 3; ++i) {
            for (std::int64_t j = 0; j < 3; ++j) CHECK(q.scale(i, j) == t.scale(j, i));
        }
    }
}

TEST_CASE("blocks at the edges are those of what there is, in lines and along k") {
    const std::vector<float> x = operand(5, 70, 1, -6, 6, 11);
    const Quantized q = quantize(quantization_by_name("mxfp8"), MatrixView(x.data(), 5, 70));
    CHECK(q.scales.size() == 15);
    const Quantized last = quantize(quantization_by_name("mxfp8"), MatrixView(x.data() + 64, 5, 6, 70, 1));
    for (std::int64_t i = 0; i < 5; ++i) {
        CHECK(q.scale(i, 2) == last.scale(i, 0));
        CHECK(q.elements()(i, 69) == last.elements()(i, 5));
    }
    CHECK(quantize(quantization_by_name("mxfp8"), MatrixView(x.data(), 0, 0)).scales.empty());
}

TEST_CASE("a quotient and a product with the reciprocal part at ties") {
    Quantization how = quantization_by_name("deepseek_1x128");
    Quantization by_product = how;
    by_product.elements.divide = false;
    RandomWords random(5);
    int different_elements = 0;
    for (int trial = 0; trial < 100; ++trial) {
        std::vector<float> x(128, 1.0F + static_cast<float>(random.below(1 << 23)) * 0x1p-23F);
        const float scale = x[0] / 448;
        for (std::size_t i = 1; i < 128; ++i) x[i] = scale * (static_cast<float>(i) + 0.5F);
        const Quantized q = quantized(how, x, 1);
        const Block expected = deepseek(exact(x.data(), 128));
        CHECK(exact(q.numbers.data(), 128) == expected.elements);
        different_elements += q.numbers == quantized(by_product, x, 1).numbers ? 0 : 1;
    }
    CHECK(different_elements > 0);
}

TEST_CASE("Hadamard transforms are the product with Sylvester's matrix under Transformer Engine's signs") {
    RandomWords random(3);
    const char* te = "+++-+------+-+--";
    std::vector<float> x(64);
    for (float& number : x) number = static_cast<float>(random.below(2001)) - 1000;  // sums are exact
    Quantization how = quantization_by_name("nvfp4");
    how.transform = {16, HadamardSigns::fixed};
    std::vector<float> y = x;
    hadamard_transform(y.data(), 64, hadamard_signs(how.transform, 0, 0));
    for (std::size_t first = 0; first < 64; first += 16) {
        const Numbers expected = hadamard(exact(x.data() + first, 16), te);
        for (std::size_t i = 0; i < 16; ++i) CHECK(test::exact(y[first + i]) == expected[i] / 4);
    }
    // The row quantises what the transform gives; a k that is not a multiple of 16 is filled up with zeros.
    CHECK(quantized(how, x, 4).numbers == quantized(quantization_by_name("nvfp4"), y, 4).numbers);
    CHECK(quantized(how, std::vector<float>(20, 1.0F), 1).k == 32);
    // Signs of a stream: both operands of a product have the same, other steps others.
    const HadamardTransform fresh{32, HadamardSigns::fresh};
    CHECK(hadamard_signs(fresh, 1, 2) == hadamard_signs(fresh, 1, 2));
    CHECK(hadamard_signs(fresh, 1, 2) != hadamard_signs(fresh, 1, 3));
    CHECK_THROWS_AS(static_cast<void>(hadamard_signs({12, HadamardSigns::none}, 0, 0)), std::invalid_argument);
    Quantization by_exponent = quantization_by_name("mxfp8");
    by_exponent.transform = {32, HadamardSigns::none};
    CHECK(quantized(by_exponent, std::vector<float>(32, 1.0F), 1).scales[0] == 0x1p-6F);
}

TEST_CASE("Quartet: a transform of 32, a scale by the standard deviation that clips, ties toward zero") {
    RandomWords random(9);
    std::vector<float> x(128);
    for (float& number : x) number = static_cast<float>(random.below(2001)) - 1000;
    const Quantized q = quantized(quantization_by_name("quartet_forward"), x, 1);
    CHECK(q.how.elements.ties_to_zero);
    for (std::size_t first = 0; first < 128; first += 32) {
        Numbers y = hadamard(exact(x.data() + first, 32), std::string(32, '+').c_str());
        for (Rational& number : y) number = fp32(number * test::exact(0.17677669F));
        const Block expected = quartet(y);
        CHECK(test::exact(q.scales[first / 32]) == expected.scale);
        CHECK(exact(q.numbers.data() + first, 32) == expected.elements);
    }
}

TEST_CASE("UFP4: E1M2 has the numbers of INT4 over 4") {
    const std::vector<float> x{1.75F, 1.625F, -0.3F, 0.125F, 0.126F, -1.0F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    Quantization how = quantization_by_name("ufp4");
    how.transform = {};
    const Quantized q = quantized(how, x, 1);
    CHECK(how.block == ScaleBlock{1, 16});
    CHECK(quantization_by_name("quartet_backward").scale.factor == 4.0F / 3);
    CHECK(q.scales[0] == 1);
    CHECK(std::vector<float>(q.numbers.begin(), q.numbers.begin() + 6) ==
          std::vector<float>{1.75F, 1.5F, -0.25F, 0, 0.25F, -1});
}

TEST_CASE("blocks of zeros, with an infinity, with a NaN") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const auto first_scale = [](const char* name, float special) {
        std::vector<float> x(128, special == 0 ? 0.0F : 1.0F);
        x[3] = special;
        const Quantized q = quantized(quantization_by_name(name), x, 1);
        if (std::isnan(q.scales[0])) CHECK(std::isnan(dequantize(q)[0]));
        return q.scales[0];
    };
    for (const char* name : {"mxfp8", "mxfp4", "mxfp8_nv"}) CHECK(first_scale(name, 0) == 0x1p-127F);
    CHECK(std::isnan(first_scale("mxfp8", infinity)));
    CHECK(first_scale("mxfp8_nv", infinity) == 0x1p127F);  // code 0xFE
    CHECK(std::isnan(first_scale("mxfp8_nv", nan)));
    CHECK(first_scale("nvfp4", 0) == 0);
    CHECK(std::isnan(first_scale("nvfp4", nan)));
    for (const char* name : {"te_current", "te_block_1x128"}) {
        for (const float special : {0.0F, infinity, nan}) CHECK(first_scale(name, special) == 1);
    }
    CHECK(first_scale("deepseek_1x128", 0) == 1e-4F / 448);
    // An infinity saturates under a scale of 1, a NaN stays.
    const Quantized q = quantized(quantization_by_name("te_current"), {infinity, nan, -3}, 1);
    CHECK(q.numbers[0] == 448);
    CHECK(std::isnan(q.numbers[1]));
    CHECK(scale_codes(quantized(quantization_by_name("mxfp8_nv"), std::vector<float>(32, infinity), 1))[0] == 0xFE);
    CHECK(scale_codes(quantized(quantization_by_name("mxfp8_nv"), std::vector<float>(32, nan), 1))[0] == 0xFF);
}

TEST_CASE("a scale from elsewhere, and the old one where that is zero or infinite") {
    Quantization delayed = quantization_by_name("te_current");
    delayed.zero = delayed.infinity = SpecialScale::old;
    delayed.nan = SpecialScale::skipped;
    const std::vector<float> x{1, 5, std::numeric_limits<float>::quiet_NaN()};
    const Quantized q = quantized(delayed, x, 1, {.statistic = 448.0F});
    CHECK(q.encode == 1);
    CHECK(q.statistic == 5);  // of this use, without the NaN
    for (const float useless : {0.0F, std::numeric_limits<float>::infinity()}) {
        CHECK(quantized(delayed, x, 1, {.statistic = useless, .old_encode = 8}).encode == 8);
    }
    delayed.elements.rounding = {.rounding = Rounding::up, .saturate = true};  // also what the scale makes 0 in fp32
    CHECK(quantized(delayed, {1e-45F, 3e38F}, 1).numbers[0] == 0x1p-9F);
    CHECK_THROWS_AS(quantized(quantization_by_name("mxfp8"), x, 1, {.statistic = 1.0F}), std::invalid_argument);
}

TEST_CASE("numbers of fp64 are rounded once under scales that are powers of two") {
    // Blocks of one number's neighbourhood: ties and elements of E4M3, E5M2, E3M2 and E2M1, a little beside them.
    std::int64_t fp32_first = 0;  // what rounding to fp32 first would have got wrong
    for (const char* name : {"mxfp8", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp4", "mxfp8_ceil", "mxfp8_even", "mxfp8_nv"}) {
        CAPTURE(std::string(name));
        const Quantization& how = quantization_by_name(name);
        const int steps = 1 << (how.element.precision() + 1);
        std::vector<double> numbers;
        for (int binade = -4; binade <= how.element.emax(); ++binade) {
            for (int step = steps / 2; step < steps; ++step) {
                for (const double beside : {0.0, 0x1p-50, -0x1p-50, 0x1p-26, -0x1p-26, 0x1p-24, 0x1p-23}) {
                    const double x = std::ldexp((step + beside) * 2 / steps, binade);
                    numbers.insert(numbers.end(), {x, -x});
                }
            }
        }
        // Each block holds a second number, whose exponent is the scale's.
        const double top = std::ldexp(1.0, how.element.emax());
        std::vector<double> blocks;
        for (const double x : numbers) {
            blocks.insert(blocks.end(), {x, top});
            blocks.resize(blocks.size() + 30, 0.0);
        }
        std::vector<float> carried(blocks.size());
        carry_in_fp32(how, blocks, carried);
        const auto count = static_cast<std::int64_t>(numbers.size());
        const Quantized q = quantize(how, MatrixView(carried.data(), count, 32));
        Context saturating{.saturate = true};
        for (std::int64_t i = 0; i < count; ++i) {
            const double x = numbers[static_cast<std::size_t>(i)];
            const double scale = static_cast<double>(q.scale(i, 0));
            REQUIRE(static_cast<double>(q.elements()(i, 0)) == round_to(how.element, x / scale, saturating));
            const auto single = static_cast<double>(static_cast<float>(x));
            fp32_first +=
                round_to(how.element, x / scale, saturating) != round_to(how.element, single / scale, saturating);
        }
    }
    CHECK(fp32_first > 100);
    const Quantization& mxfp8 = quantization_by_name("mxfp8");
    float carried = 0;
    const double huge = 1e39, just = 3.4028235e38, small = 0x1p-160;
    CHECK_THROWS_WITH_AS(carry_in_fp32(mxfp8, {&huge, 1}, {&carried, 1}),
                         "number 0 of the operand, 1e39, lies beyond fp32, in which scales are computed; scale the "
                         "operand first",
                         std::range_error);
    carry_in_fp32(mxfp8, {&just, 1}, {&carried, 1});
    CHECK(carried == std::numeric_limits<float>::max());
    carry_in_fp32(mxfp8, {&small, 1}, {&carried, 1});
    CHECK(carried == 0x1p-149F);  // not zero
    // The exponent of a block's largest is that of the fp64 number.
    const double below = 0x1.ffffffffffff8p8;
    carry_in_fp32(mxfp8, {&below, 1}, {&carried, 1});
    CHECK(quantize(mxfp8, MatrixView(&carried, 1, 1)).scales.front() == 1);
}

TEST_CASE("stochastic elements: the mean is the number, the same draws for the same stream and any threads") {
    Quantization how = quantization_by_name("nvfp4");
    how.elements.rounding = {.rounding = Rounding::stochastic, .random_bits = 8};
    const std::vector<float> x = operand(64, 4096, 16, -3, 3, 21);
    const Quantized a = quantized(how, x, 64, {.seed = 1, .stream = 2});
    CHECK(a.numbers == quantized(how, x, 64, {.seed = 1, .stream = 2}).numbers);
    CHECK(a.numbers != quantized(how, x, 64, {.seed = 1, .stream = 3}).numbers);
    // A part by itself draws what it draws in the whole.
    const Quantized part = quantize(
        {.element = formats::e2m1, .block = {1, 16}, .scale = {.step = ScaleStep::exponent}, .elements = how.elements},
        MatrixView(x.data() + 4096, 1, 4096), {.seed = 1, .stream = 2, .first = 4096});
    const Quantized whole = quantize(part.how, MatrixView(x.data(), 2, 4096), {.seed = 1, .stream = 2});
    CHECK(std::equal(part.numbers.begin(), part.numbers.end(), whole.numbers.begin() + 4096));
    double sum = 0;
    for (std::uint64_t stream = 0; stream < 4096; ++stream) {
        sum += dequantize(quantize(part.how, MatrixView(x.data() + 5, 1, 1), {.seed = 1, .stream = stream}))[0];
    }
    // A standard deviation is at most half a step of the grid, over 64; eight bits cut away at most 1 / 256 of a step.
    const double step = 0x1p-1 * whole.scale(0, 0);
    CHECK(std::abs(sum / 4096 - x[5]) < step * (5 * 0.5 / 64 + 1.0 / 256) * 4);
}

TEST_CASE("what threads share: draws by place, the largest of all, scales of blocks") {
    const std::vector<float> x = operand(64, 4096, 16, -3, 3, 22);
    Quantization drawn{.element = formats::e2m1, .block = {1, 16}, .scale = {.step = ScaleStep::exponent}};
    drawn.elements.rounding = {.rounding = Rounding::stochastic, .random_bits = 8};
    const Quantized whole = quantized(drawn, x, 64, {.seed = 1, .stream = 2});
    for (std::size_t i = 0; i < 64; ++i) {
        const Quantized line =
            quantize(drawn, MatrixView(x.data() + i * 4096, 1, 4096), {.seed = 1, .stream = 2, .first = i * 4096});
        CHECK(
            std::equal(line.numbers.begin(), line.numbers.end(), whole.numbers.begin() + static_cast<long>(i) * 4096));
    }
    std::vector<float> y(x.size(), 1.0F);
    y[y.size() - 4000] = 7;
    CHECK(quantized(quantization_by_name("te_current"), y, 64).scales[0] == 7 / 448.0F);
}

TEST_CASE("elements beyond the largest saturate also where they are drawn and scales end at their format's ends") {
    Quantization drawn = quantization_by_name("mxfp8");
    drawn.elements.rounding = {.rounding = Rounding::stochastic, .random_bits = 8};
    for (const float element : quantized(drawn, std::vector<float>(32, 1.99F), 1).numbers) CHECK(element == 448);
    Quantization beyond = quantization_by_name("mxfp8_nv");
    beyond.scale.largest = 0.25F;
    CHECK(quantized(beyond, std::vector<float>(32, 0x1.8p127F), 1).scales[0] == 0x1p127F);
}

TEST_CASE("fresh signs are the bits of Philox's words, 1 for a minus") {
    const std::vector<float> signs = hadamard_signs({512, HadamardSigns::fresh}, 7 | std::uint64_t{9} << 32, 3);
    for (std::uint32_t i = 0; i < 512; ++i) {
        const philox::Block words = philox::generate({i / 128, 0, 3, 0}, {7, 9});
        CHECK(signs[i] == ((words[i / 32 % 4] >> (i % 32) & 1) != 0 ? -1.0F : 1.0F));
    }
}

TEST_CASE("what fills a line up is zero, whatever lies behind the line in memory") {
    const float numbers[] = {1, 2, 3, 9, 4, 5, 6, 9};
    const auto filled = gathered(MatrixView(numbers, 2, 3, 4, 1), 4);
    CHECK(std::vector<float>(filled.begin(), filled.end()) == std::vector<float>{1, 2, 3, 0, 4, 5, 6, 0});
}

TEST_CASE("an infinity or a NaN that a row skips is no largest number") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    Quantization how = quantization_by_name("mxfp8");
    const float numbers[] = {0.5F, -infinity, 0.25F};
    CHECK(largest_magnitude(how, numbers, 3) == infinity);
    how.infinity = SpecialScale::skipped;
    CHECK(largest_magnitude(how, numbers, 3) == 0.5F);
    CHECK(largest_magnitude(how, numbers, 0) == 0);
}

TEST_CASE("an infinity in one block leaves NVFP4's factor of all") {
    std::vector<float> x(64, 3.0F);
    const float factor = quantized(quantization_by_name("nvfp4"), x, 1).tensor_scale;
    x[40] = std::numeric_limits<float>::infinity();
    CHECK(quantized(quantization_by_name("nvfp4"), x, 1).tensor_scale == factor);
}

TEST_CASE("codes stand for the elements and the scales") {
    const std::vector<float> x = operand(2, 64, 16, -3, 3, 2);
    const Quantized q = quantized(quantization_by_name("nvfp4"), x, 2);
    Context exact;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint64_t word = convert_bits(formats::fp32, formats::e2m1, element_codes(q)[i], exact);
        CHECK(std::bit_cast<float>(static_cast<std::uint32_t>(word)) == q.numbers[i]);
    }
    CHECK(scale_codes(q).size() == 8);
    CHECK_THROWS_AS(scale_codes(quantized(quantization_by_name("te_current"), x, 2)), std::invalid_argument);
    CHECK_THROWS_WITH_AS(static_cast<void>(quantization_by_name("mxfp9")),
                         doctest::Contains("no quantization 'mxfp9'; there are mxfp8"), std::invalid_argument);
    Quantization senseless = quantization_by_name("mxfp8");
    senseless.scale.tensor_scale_max = 448;
    CHECK_THROWS_AS(quantized(senseless, x, 2), std::invalid_argument);
}

TEST_CASE("whole numbers: GGUF's Q4_0 and Q8_0, zero points, and their codes") {
    std::vector<float> x(32, 0.0F);
    x[0] = 4, x[1] = -4, x[2] = 0.25F, x[3] = -0.25F, x[4] = 0.5F;
    // The first number of the largest magnitude becomes -8: dec = 4 / -8; codes trunc(x * -2 + 8.5), up to 15.
    const Quantized q4 = quantized(quantization_by_name("q4_0"), x, 1);
    CHECK(q4.scales[0] == -0.5F);
    CHECK(exact(q4.numbers.data(), 6) == Numbers{-8, 7, 0, 1, -1, 0});
    CHECK(std::vector<std::uint8_t>{0, 15, 8, 9, 7, 8} == [&] {
        const std::vector<std::uint8_t> codes = element_codes(q4);
        return std::vector<std::uint8_t>(codes.begin(), codes.begin() + 6);
    }());
    CHECK(dequantize(q4)[0] == 4);
    CHECK(std::signbit(dequantize(quantized(q4.how, std::vector<float>(32, 0.0F), 1))[0]));  // the scale is 0 / -8
    // 127 steps of 4 / 127, which is stored in fp16 and used in fp32; halves away from zero.
    const Quantized q8 = quantized(quantization_by_name("q8_0"), x, 1);
    CHECK(q8.scales[0] == round_to(formats::fp16, 4.0F / 127));
    CHECK(exact(q8.numbers.data(), 5) == Numbers{127, -127, 8, -8, 16});
    CHECK(element_codes(q8)[1] == 0x81);
    // -4 to 4 in 15 steps: the zero point is -8 - round(-4 / dec) = -1, for dec lies above 8 / 15 in fp32.
    Quantization affine = quantization_by_name("int4_affine");
    const Quantized zero = quantized(affine, x, 1);
    CHECK(zero.scales[0] == 8.0F / 15);
    CHECK(zero.zero_points[0] == -1);
    for (float& number : x) number += 4;  // 0 to 8: all of the codes lie above zero
    const Quantized above = quantized(affine, x, 1);
    CHECK(above.zero_points[0] == -8);
    CHECK(above.numbers[0] == 15);
    CHECK(element_codes(above)[0] == 7);
    CHECK(element_codes(above)[1] == 8);  // -8 in two's complement
    x.resize(64, -8.0F);
    CHECK(element_codes(quantized(affine, x, 1))[32] == 8);  // of a second block
    affine.elements.rounding = {.rounding = Rounding::stochastic, .random_bits = 8};
    CHECK_THROWS_WITH_AS(quantized(affine, x, 1),
                         "whole numbers are rounded to nearest, away, toward zero, down or up, not stochastic",
                         std::invalid_argument);
    CHECK(std::isinf(quantized(quantization_by_name("q8_0"), std::vector<float>(32, 1e20F), 1).scales[0]));
}

TEST_CASE("every row says where its arithmetic is stated, and a use replaces parts of it") {
    for (const NamedQuantization& row : named_quantizations()) {
        CAPTURE(row.name);
        CHECK(!row.source.empty());
        CHECK(!row.reproducer.empty());
    }
    const Quantization power =
        with_parts(quantization_by_name("deepseek_1x128"), {.scale_format = formats::e8m0, .block = ScaleBlock{1, 32}});
    CHECK(power.scale.rounding == Rounding::up);
    CHECK(power.block == ScaleBlock{1, 32});
    const std::vector<float> x = operand(4, 64, 32, -12, 12, 3);
    const Quantized q = quantized(power, x, 4);
    for (std::size_t block = 0; block < q.scales.size(); ++block) {
        CHECK(test::exact(q.scales[block]) ==
              power_of_two(floor_log2(largest_of(exact(x.data() + 32 * block, 32)) / 448) + 1));
    }
    const Quantization short_of = with_parts(quantization_by_name("deepseek_1x128"), {.scale_format = formats::e4m3});
    CHECK(quantized(short_of, std::vector<float>(128, 1e6F), 1).scales[0] == 448);
    CHECK_THROWS_AS(with_parts(power, {.scale_format = formats::e2m1}), std::invalid_argument);
    CHECK_THROWS_AS(with_parts(quantization_by_name("q8_0"), {.element = formats::e4m3}), std::invalid_argument);
    CHECK(text_of(power) != text_of(quantization_by_name("deepseek_1x128")));
    Quantization biased = quantization_by_name("mxfp8");
    biased.element = ulp::FloatFormat{4, 3, 20};
    Quantization other = biased;
    other.element.bias = 21;
    CHECK(text_of(biased) != text_of(other));
    CHECK(text_of(quantization_by_name("mxfp8")).starts_with("element e4m3, block 1x32, transform 0 "));
    CHECK(text_of(quantization_by_name("q8_0")) != text_of(quantization_by_name("q4_0")));
}

TEST_CASE("the comparison notices a mutant of every rule") {
    using Mutation = std::function<void(Quantization&)>;
    const std::vector<std::pair<const char*, Mutation>> mutations = {
        {"scale rounded up instead of down, or down instead of up",
         [](Quantization& how) {
             how.scale.rounding = how.scale.rounding == Rounding::down ? Rounding::up : Rounding::down;
         }},
        {"another largest element", [](Quantization& how) { how.element = formats::e2m3; }},
        {"another block", [](Quantization& how) { how.block.k = how.block.k == 0 ? 128 : how.block.k / 2; }},
        {"elements toward zero", [](Quantization& how) { how.elements.rounding.rounding = Rounding::toward_zero; }},
        {"a scale twice as large", [](Quantization& how) { how.scale.factor = 2; }}};
    const auto same = [](const Case& c, const Quantization& how) {
        const std::vector<float> x = operand(lines, width, static_cast<std::size_t>(c.block), -12, 12, 7);
        const Quantized q = quantized(how, x, lines);
        const Quantized right = quantized(quantization_by_name(c.name), x, lines);
        return q.scales == right.scales && q.numbers == right.numbers;
    };
    for (const Case& c : cases()) {
        const Quantization& row = quantization_by_name(c.name);
        for (const auto& mutation : mutations) {
            const char* what = mutation.first;
            Quantization mutant = row;
            mutation.second(mutant);
            if (mutant == row) continue;
            if (row.element == formats::e2m3 && mutant.element == row.element && mutant.scale == row.scale) continue;
            CAPTURE(std::string(c.name));
            CAPTURE(std::string(what));
            if (mutant.scale.rounding != row.scale.rounding && row.scale.format == formats::fp32) continue;
            // A factor of dec changes the elements; dec itself and enc of a rule that encodes do not have it.
            if (mutant.scale.factor != 1 && row.scale.step == ScaleStep::encode) continue;
            CHECK(!same(c, mutant));
        }
    }
    // What single rows alone have.
    const auto changed = [&](const char* name, const Mutation& mutate) {
        for (const Case& c : cases()) {
            if (std::string(c.name) != name) continue;
            Quantization mutant = quantization_by_name(name);
            mutate(mutant);
            return !same(c, mutant);
        }
        return false;
    };
    CHECK(changed("mxfp8_even", [](Quantization& how) { how.scale.statistic_on_grid = false; }));
    CHECK(changed("nvfp4", [](Quantization& how) { how.scale.tensor_scale_max = 256; }));
    CHECK(changed("nvfp4_4over6", [](Quantization& how) { how.candidate = {}; }));
    CHECK(changed("nvfp4_4over6", [](Quantization& how) { how.candidate.error = ScaleError::absolute; }));
    CHECK(changed("deepseek_1x128", [](Quantization& how) { how.scale.floor = 1; }));
    CHECK(changed("ao_rowwise", [](Quantization& how) { how.scale.format = formats::fp32; }));
    CHECK(changed("mxfp4", [](Quantization& how) { how.elements.ties_to_zero = true; }));
}

}  // namespace ulp::test
