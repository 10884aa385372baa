// The functions of a GPU: the table, the models at known operands, and digests that one wrong bit changes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <string>

#include "gpu/devices/executor.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "gpu/untried/function_models.hpp"
#include "gpu/untried/functions.hpp"
#include "softfloat/errors.hpp"

namespace {

using namespace ulp;

std::uint32_t model_of(const char* name, std::uint32_t operand) {
    return gpu::hardware_function_by_name(name).model(operand);
}
std::uint32_t word(float x) { return std::bit_cast<std::uint32_t>(x); }

}  // namespace

TEST_CASE("functions have names of their own, and conversions and halves have models") {
    std::set<std::string_view> names;
    for (const gpu::HardwareFunction& each : gpu::hardware_functions()) {
        INFO(each.name);
        CHECK(names.insert(each.name).second);
        const auto has = [&](const char* part) { return each.name.find(part) != std::string_view::npos; };
        CHECK((each.model == nullptr) == (has(".approx.") || has("cvt.rs.")));
        CHECK((each.stated || each.model == nullptr) == !has("atom."));
    }
    CHECK_THROWS_WITH_AS(gpu::hardware_function_by_name("exp"), doctest::Contains("choose from ex2.approx.f32"),
                         UsageError);
}

TEST_CASE("models round, saturate and give NaNs as the manual says") {
    CHECK(model_of("cvt.rn.f16.f32", word(65519.0F)) == 0x7BFF);
    CHECK(model_of("cvt.rn.f16.f32", word(65520.0F)) == 0x7C00);
    CHECK(model_of("cvt.rz.f16.f32", word(65535.0F)) == 0x7BFF);
    CHECK(model_of("cvt.rn.f16.f32", 0xFFC00001) == 0x7FFF);
    CHECK(model_of("cvt.rz.bf16.f32", word(-1.9999F)) == 0xBFFF);
    CHECK(model_of("cvt.rn.bf16.f32", word(-1.9999F)) == 0xC000);
    CHECK(model_of("cvt.rn.satfinite.e4m3x2.f32", word(1000.0F)) == 0x7E);
    CHECK(model_of("cvt.rn.satfinite.e4m3x2.f32", word(-1000.0F)) == 0xFE);
    CHECK(model_of("cvt.rn.satfinite.e4m3x2.f32", 0x7F800000) == 0x7E);
    CHECK(model_of("cvt.rn.satfinite.e5m2x2.f16x2", 0x7C00) == 0x7B);
    CHECK(model_of("cvt.rn.satfinite.e5m2x2.f16x2", 0x7E00) == 0x7F);
    CHECK(model_of("cvt.f32.f16", 0x0001) == word(0x1p-24F));
    CHECK(model_of("cvt.rm.f16.f32", word(-1.0001F)) == 0xBC01);
    CHECK(model_of("cvt.rp.f16.f32", word(-1.0001F)) == 0xBC00);
    CHECK(model_of("cvt.rn.satfinite.f16.f32", word(1e6F)) == 0x7BFF);
    CHECK(model_of("cvt.rna.tf32.f32", 0x3F801000) == 0x3F802000);
    CHECK(model_of("cvt.rn.tf32.f32", 0x3F801000) == 0x3F800000);
    CHECK(model_of("cvt.rn.bf16.f16", 0x3C01) == 0x3F80);
    CHECK(model_of("cvt.rn.f16x2.e4m3x2", 0x7E) == 0x5F00);
    CHECK(model_of("cvt.rn.satfinite.e2m1x2.f32", word(2.5F)) == 0x4);  // to even: 2
    CHECK(model_of("cvt.rn.satfinite.e2m1x2.f32", word(-100.0F)) == 0xF);
    CHECK(model_of("cvt.rn.satfinite.e2m3x2.f32", 0x7FC00000) == 0x1F);  // a NaN becomes the largest number
    CHECK(model_of("cvt.rn.f16x2.e2m1x2", 0x7) == 0x4600);
    CHECK(model_of("cvt.rn.bf16x2.ue8m0x2", 127) == 0x3F80);
    CHECK(model_of("add.rn.f16", 0x3C00'3C00) == 0x4000);
    CHECK(model_of("mul.rn.f16", 0x7BFF'4000) == 0x7C00);
    CHECK(model_of("add.rn.bf16", 0xFF80'7F80) == 0x7FFF);  // infinity less infinity
}

TEST_CASE("scales of fp32 numbers are powers of two from below or above, by the magnitude") {
    // What NVIDIA's own function of this name gives on a CPU: operand, .rz, .rp.
    for (const auto& [x, down, up] : {std::array{0x00000000U, 0x00U, 0x00U},
                                      {0x80000000U, 0x00U, 0x00U},
                                      {0x00000001U, 0x00U, 0x00U},
                                      {0x00400000U, 0x00U, 0x00U},
                                      {0x00400001U, 0x00U, 0x01U},
                                      {0x007FFFFFU, 0x00U, 0x01U},
                                      {0x00800000U, 0x01U, 0x01U},
                                      {0x00800001U, 0x01U, 0x02U},
                                      {0xBF800000U, 0x7FU, 0x7FU},
                                      {0xBF800001U, 0x7FU, 0x80U},
                                      {0x7F000000U, 0xFEU, 0xFEU},
                                      {0x7F000001U, 0xFEU, 0xFEU},
                                      {0xFF7FFFFFU, 0xFEU, 0xFEU},
                                      {0x7F800000U, 0xFEU, 0xFEU},
                                      {0xFF800000U, 0xFEU, 0xFEU},
                                      {0x7FC00000U, 0xFFU, 0xFFU},
                                      {0xFF800001U, 0xFFU, 0xFFU}}) {
        const std::uint32_t operand = x;
        CAPTURE(operand);
        CHECK(model_of("cvt.rz.satfinite.ue8m0x2.f32", x) == down);
        CHECK(model_of("cvt.rp.satfinite.ue8m0x2.f32", x) == up);
    }
    // By logarithms, at drawn operands.
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        const auto x = static_cast<std::uint32_t>(gpu::mix(i));
        const double value = std::abs(static_cast<double>(std::bit_cast<float>(x)));
        if (!std::isfinite(value) || value == 0) continue;
        int exponent = 0;
        const bool power = std::frexp(value, &exponent) == 0.5;
        const auto code = [](int e) { return static_cast<std::uint32_t>(std::clamp(e + 127, 0, 254)); };
        REQUIRE(model_of("cvt.rz.satfinite.ue8m0x2.f32", x) == code(exponent - 1));
        REQUIRE(model_of("cvt.rp.satfinite.ue8m0x2.f32", x) == code(power ? exponent - 1 : exponent));
    }
}

TEST_CASE("the answers themselves are those of the digest, and come only where they are asked for") {
    const auto device = gpu::open_device("software:sm_90");
    const gpu::HardwareFunction& function = gpu::hardware_function_by_name("cvt.f32.f16");
    const auto kept = gpu::ask_function(*device, function, 100, 5000, true);
    REQUIRE(kept.results.size() == 5000);
    std::uint64_t digest = 0;
    for (std::uint32_t i = 0; i < 5000; ++i) digest += gpu::digest_term(100 + i, kept.results[i]);
    CHECK(digest == kept.digest);
    CHECK(kept.results[23] == function.model(123));
    const auto plain = gpu::ask_function(*device, function, 100, 5000);
    CHECK(plain.digest == kept.digest);
    CHECK(plain.results.empty());
}

TEST_CASE("a digest is of all operands of its range, and one other answer changes it") {
    const auto device = gpu::open_device("software:sm_90");
    const gpu::HardwareFunction& function = gpu::hardware_function_by_name("cvt.rn.satfinite.e4m3x2.f16x2");
    const std::uint64_t all = gpu::ask_function(*device, function, 0, 65536).digest;
    const std::uint64_t halves = gpu::ask_function(*device, function, 0, 32768).digest +
                                 gpu::ask_function(*device, function, 32768, 32768).digest;
    CHECK(all == halves);
    const std::uint32_t answer = function.model(1234);
    CHECK(all - gpu::digest_term(1234, answer) + gpu::digest_term(1234, answer ^ 1) != all);
}

TEST_CASE("models of a warp are of all its lanes") {
    const std::uint32_t number = 77;
    std::uint32_t sum = 0;
    float ascending = 0, least = 1e30F, largest = 0;
    for (int lane = 0; lane < 32; ++lane) {
        sum += gpu::models::sampled_word(number, lane);
        const auto x = std::bit_cast<float>(gpu::models::sampled_float(number, lane));
        CHECK(std::isnormal(x));
        ascending += x;
        least = std::min(least, x);
        largest = std::max(largest, std::abs(x));
    }
    CHECK(model_of("redux.sync.add.s32", number) == sum);
    CHECK(model_of("atom.shared.add.f32", number) == word(ascending));
    CHECK(model_of("redux.sync.min.f32", number) == word(least));
    CHECK(model_of("redux.sync.max.abs.NaN.f32", number) == word(largest));
}

TEST_CASE("samples of fma meet every half's exponent") {
    std::set<int> exponents;
    for (std::uint32_t number = 0; number < 4096; ++number) {
        exponents.insert(gpu::models::sampled_halves(number).c >> 10 & 31);
    }
    CHECK(exponents.size() == 32);
}

TEST_CASE("what cannot be asked is said") {
    const auto device = gpu::open_device("software:sm_80");
    CHECK_THROWS_WITH_AS(gpu::ask_function(*device, gpu::hardware_function_by_name("add.rn.bf16"), 0, 1),
                         doctest::Contains("has no add.rn.bf16, which needs sm_90"), UsageError);
    CHECK_THROWS_WITH_AS(gpu::ask_function(*device, gpu::hardware_function_by_name("sin.approx.f32"), 0, 1),
                         doctest::Contains("only a GPU can be asked"), UsageError);
}
