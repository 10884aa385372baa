// The table against MMA-Sim (Xie et al., arXiv 2511.10909), on which most rows of AMD, Turing and Blackwell rest: its
// results for random blocks, as digests, and single results. Facts; docs/mma_sim.md tells how they were found.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "tests/softfloat/matrix_units/unit_blocks.hpp"

namespace {

using ulp::BlockScaledModel;
using ulp::DataClass;
using ulp::Rounding;
using ulp::TensorCoreModel;
using ulp::UnitModel;
using ulp::UnitRow;
using ulp::test::UnitBlock;
using Words = std::vector<std::uint64_t>;

constexpr int blocks_of_class = 128;
// Operands on which the versions of MMA-Sim and the policies of policies.hpp agree.
constexpr std::array classes{DataClass::ordinary, DataClass::wide, DataClass::cancelling};

/// FNV-1a over the results as 64-bit words, lowest byte first.
std::uint64_t digest_of(const UnitModel& model) {
    std::uint64_t digest = 0xCBF29CE484222325U;
    for (const DataClass data : classes) {
        const auto seed = static_cast<std::uint64_t>(data) + 1;
        for (const UnitBlock& block :
             ulp::test::random_blocks(ulp::test::formats_of(model), data, blocks_of_class, seed)) {
            const std::uint64_t result = ulp::test::result_of(model, block);
            for (int byte = 0; byte < 8; ++byte) {
                digest = (digest ^ (result >> (8 * byte) & 0xFF)) * 0x100000001B3U;
            }
        }
    }
    return digest;
}

struct Published {
    std::string_view key;
    std::uint64_t digest;
};
constexpr Published published[] = {
#include "tests/softfloat/matrix_units/mma_sim_digests.inc"
};

const TensorCoreModel& unscaled(const UnitModel& model) {
    const auto* scaled = std::get_if<BlockScaledModel>(&model);
    return scaled != nullptr ? scaled->unscaled : std::get<TensorCoreModel>(model);
}

/// The model with a change to its unscaled part.
template <class Change>
UnitModel changed(UnitModel model, const Change& change) {
    if (auto* scaled = std::get_if<BlockScaledModel>(&model)) {
        change(scaled->unscaled);
    } else {
        change(std::get<TensorCoreModel>(model));
    }
    return model;
}

/// A block of zeros but for the given elements, from the first on; scales of one.
UnitBlock block_of(const UnitModel& model, Words a, Words b, std::uint64_t c) {
    const ulp::test::UnitFormats formats = ulp::test::formats_of(model);
    a.resize(static_cast<std::size_t>(formats.k));
    b.resize(static_cast<std::size_t>(formats.k));
    const std::uint64_t one = static_cast<std::uint64_t>(formats.scale.bias) << formats.scale.fraction_bits;
    const Words scales(static_cast<std::size_t>(formats.scales), one);
    return {a, b, scales, scales, c};
}

std::uint64_t result(std::string_view key, const Words& a, const Words& b, std::uint64_t c) {
    const UnitModel& model = ulp::find_unit(key).model;
    return ulp::test::result_of(model, block_of(model, a, b, c));
}

/// F by MMA-Sim: what the terms of a fused group keep below the largest exponent.
int published_fraction_bits(const UnitRow& row) {
    const TensorCoreModel& model = unscaled(row.model);
    if (row.architecture == "sm_70") return 23;
    const bool fp8 = model.instruction_k == 32 && model.a_format.code_bits() == 8;
    if (fp8 && (row.architecture == "sm_89" || row.instruction == "wgmma")) return 13;
    return row.architecture.size() == 5 && row.architecture < "sm_90" ? 24 : 25;
}

/// 2^exponent as a storage word.
std::uint64_t power_of_two(const ulp::FloatFormat& format, bool sign, int exponent) {
    ulp::Context exact;
    return ulp::round_to_bits(format, sign, exponent, std::uint64_t{1}, exact);
}

/// Operands' exponents whose product is the largest term of a group, and c still a number beside it.
int large_exponent(const ulp::FloatFormat& format) { return std::min(format.emax(), 12); }

/// Whether c, 2^-below beside two equal products of opposite signs, survives.
bool survives(const UnitModel& model, int below) {
    const TensorCoreModel& m = unscaled(model);
    const int x = large_exponent(m.a_format);
    const int y = large_exponent(m.b_format);
    const std::uint64_t b = power_of_two(m.b_format, false, y);
    const UnitBlock block = block_of(model, {power_of_two(m.a_format, false, x), power_of_two(m.a_format, true, x)},
                                     {b, b}, power_of_two(m.accumulator, false, x + y - below));
    return ulp::test::result_of(model, block) != 0;
}

}  // namespace

TEST_CASE("every row that MMA-Sim models gives its results") {
    for (const Published& row : published) {
        CAPTURE(std::string(row.key));
        CHECK(digest_of(ulp::find_unit(row.key).model) == row.digest);
    }
}

TEST_CASE("every row said to be equal to MMA-Sim is among them") {
    for (const UnitRow& row : ulp::unit_table()) {
        if (row.proof.find("equal to its results") == std::string::npos) continue;
        CAPTURE(row.key());
        CHECK(std::any_of(std::begin(published), std::end(published),
                          [&](const Published& other) { return other.key == row.key(); }));
    }
}

TEST_CASE("another rounding, group or summation shows in the digests") {
    for (const Published& expected : published) {
        CAPTURE(std::string(expected.key));
        const UnitModel& model = ulp::find_unit(expected.key).model;
        const auto shows = [&](const auto& change) { return digest_of(changed(model, change)) != expected.digest; };
        const TensorCoreModel& m = unscaled(model);
        const bool fused = m.summation == ulp::Summation::fused;
        if (fused && std::holds_alternative<TensorCoreModel>(model)) {
            CHECK(shows([](TensorCoreModel& other) {
                other.rounding =
                    other.rounding == Rounding::nearest_even ? Rounding::toward_zero : Rounding::nearest_even;
            }));
        }
        if (m.summation == ulp::Summation::late_addend && m.group_size > 4) {
            CHECK(shows([](TensorCoreModel& other) { other.group_size /= 2; }));
        }
        if (m.summation == ulp::Summation::pairwise || m.summation == ulp::Summation::exact) {
            CHECK(shows([](TensorCoreModel& other) { other.summation = ulp::Summation::fma_chain; }));
        }
    }
}

TEST_CASE("fused groups keep as many fraction bits as published") {
    for (const UnitRow& row : ulp::unit_table()) {
        const bool floating = !std::holds_alternative<ulp::IntegerModel>(row.model);
        if (!floating || unscaled(row.model).summation != ulp::Summation::fused) continue;
        CAPTURE(row.key());
        if (unscaled(row.model).instruction_k == 64) continue;        // FP4 with scales: the next test
        if (unscaled(row.model).variation.invert_opposing) continue;  // test_varied_group.cpp has its published value
        const int bits = published_fraction_bits(row);
        CHECK(survives(row.model, bits));
        CHECK_FALSE(survives(row.model, bits + 1));
        const auto with_bits = [&](int wrong) {
            return changed(row.model, [&](TensorCoreModel& mutant) { mutant.fraction_bits = wrong; });
        };
        CHECK_FALSE(survives(with_bits(bits - 1), bits));
        CHECK(survives(with_bits(bits + 1), bits + 1));
    }
}

TEST_CASE("FP4 with scales keeps 35 fraction bits below the scales' exponents") {
    for (const char* key : {"sm_100:tcgen05.mxf4.e2m1.fp32", "sm_120:mma.mxf4_block16.e2m1.fp32"}) {
        CAPTURE(std::string(key));
        const UnitModel& model = ulp::find_unit(key).model;
        // Products of 1 and -1 in two blocks of scale 2^35: only c is left.
        const auto left_of = [&](const UnitModel& unit, std::uint64_t c) {
            UnitBlock block = block_of(unit, {2}, {2}, c);
            block.a[32] = 10;
            block.b[32] = 2;
            block.a_scales[0] = block.a_scales[block.a_scales.size() / 2] = 127 + 35;
            return ulp::test::result_of(unit, block);
        };
        CHECK(left_of(model, 0x3F800000) == 0x3F800000);
        CHECK(left_of(model, 0x3F000000) == 0);
        CHECK(left_of(changed(model, [](TensorCoreModel& m) { m.fraction_bits = 34; }), 0x3F800000) == 0);
        CHECK(left_of(changed(model, [](TensorCoreModel& m) { m.fraction_bits = 36; }), 0x3F000000) == 0x3F000000);
    }
}

TEST_CASE("scales are shared by as many elements as the row's name says") {
    const auto sum_of_ones = [](const char* key, const Words& a_scales) {
        const UnitModel& model = ulp::find_unit(key).model;
        UnitBlock block = block_of(model, Words(64, 2), Words(64, 2), 0);
        block.a_scales = a_scales;
        return ulp::test::result_of(model, block);
    };
    // 16 (1 + 2 + 4 + 8) = 240, 32 (1 + 2) = 96
    CHECK(sum_of_ones("sm_100:tcgen05.mxf4_block16.e2m1.fp32", {127, 128, 129, 130}) == 0x43700000);
    CHECK(sum_of_ones("sm_120:mma.mxf4_block16.e2m1.fp32", {127, 128, 129, 130}) == 0x43700000);
    CHECK(sum_of_ones("sm_120:mma.nvf4.e2m1.fp32", {0x38, 0x40, 0x48, 0x50}) == 0x43700000);
    CHECK(sum_of_ones("sm_120:mma.nvf4_block32.e2m1.fp32", {0x38, 0x40}) == 0x42C00000);
    CHECK(sum_of_ones("sm_120:mma.mxf4.e2m1.fp32", {127, 128}) == 0x42C00000);
}

TEST_CASE("operands of unequal formats keep their own values") {
    // 57344 * 6, 57344 * 28, 448 * 7.5, 65504 * 2^100
    CHECK(result("sm_100:tcgen05.e5m2_e2m1.fp32", {0x7B}, {0x07}, 0) == 0x48A80000);
    CHECK(result("sm_120:mma.e3m2_e5m2.fp32", {0x1F}, {0x7B}, 0) == 0x49C40000);
    CHECK(result("sm_120:mma.e4m3_e2m3.fp16", {0x7E}, {0x1F}, 0) == 0x6A90);
    CHECK(result("sm_100:tcgen05.mxf8f6f4.e2m1_e5m2.fp32", {0x07}, {0x7B}, 0) == 0x48A80000);
    CHECK(result("sm_100:tcgen05.fp16_bf16.fp32", {0x7BFF}, {0x7180}, 0) == 0x797FE000);
    CHECK(result("sm_100:tcgen05.bf16_fp16.fp32", {0x7180}, {0x7BFF}, 0) == 0x797FE000);
    // 240 * 57344 and back, beside c = 1
    CHECK(result("gfx942:mfma.e4m3fnuz_e5m2fnuz.fp32", {0x7F}, {0x7F}, 0x3F800000) == 0x4B520001);
    CHECK(result("gfx942:mfma_x16.e5m2fnuz_e4m3fnuz.fp32", {0x7F}, {0x7F}, 0x3F800000) == 0x4B520001);
}

TEST_CASE("short AMD shapes add no zeros of their own") {
    const auto of_one_product = [](const char* key, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        return ulp::chain_dot(ulp::unit_model<TensorCoreModel>(key), &a, &b, c, 1);
    };
    // -0 * 1 + -0 is -0; the zeros that fill an instruction with more products make +0 of it.
    for (const std::string gpu : {"gfx908", "gfx90a", "gfx942"}) {
        CAPTURE(gpu);
        CHECK(of_one_product((gpu + ":mfma_x1.fp32.fp32").c_str(), 0x80000000, 0x3F800000, 0x80000000) == 0x80000000);
        CHECK(of_one_product((gpu + ":mfma_x2.fp32.fp32").c_str(), 0x80000000, 0x3F800000, 0x80000000) == 0);
        CHECK(of_one_product((gpu + ":mfma.fp32.fp32").c_str(), 0x80000000, 0x3F800000, 0x80000000) == 0);
    }
    // CDNA 3 with K 4 rounds after four products: 2^24 + 1 + 1 loses both ones in turn.
    const Words ones(8, 0x3C00);
    const Words quarters(8, 0x3400);
    const auto& eight = ulp::unit_model<TensorCoreModel>("gfx942:mfma_x8.fp16.fp32");
    const auto& four = ulp::unit_model<TensorCoreModel>("gfx942:mfma_x4.fp16.fp32");
    CHECK(ulp::chain_dot(eight, ones.data(), quarters.data(), std::uint64_t{0x4B800000}, 8) == 0x4B800001);
    CHECK(ulp::chain_dot(four, ones.data(), quarters.data(), std::uint64_t{0x4B800000}, 8) == 0x4B800000);
}

TEST_CASE("CDNA 2 takes zeros and subnormals of operands and c for +0, and flushes results with their sign") {
    const Words minus_tiny{0x8001, 0x8001};
    const Words ones{0x3F80, 0x3F80};
    CHECK(result("gfx90a:mfma_x2.bf16.fp32", minus_tiny, ones, 0x80000000) == 0);
    CHECK(result("gfx90a:mfma_x2.bf16.fp32", {0x8000, 0x8000}, ones, 0x807FFFFF) == 0);
    CHECK(result("gfx90a:mfma_x2.bf16.fp32", {0x0080, 0}, {0xBFC0, 0}, 0x00800000) == 0x80000000);
    CHECK(result("gfx90a:mfma_1k_x4.bf16.fp32", minus_tiny, ones, 0x80000001) == 0);
    // Both products are -2^-127 and become -0; c counts as +0.
    const UnitModel& model = ulp::find_unit("gfx90a:mfma_x2.bf16.fp32").model;
    const UnitBlock block = block_of(model, {0x0080, 0x0080}, {0xBF00, 0xBF00}, 0x80000000);
    CHECK(ulp::test::result_of(model, block) == 0);
    const UnitModel mutant = changed(model, [](TensorCoreModel& m) { m.positive_input_zeros = false; });
    CHECK(ulp::test::result_of(mutant, block) == 0x80000000);
}

TEST_CASE("CDNA 3: a product of 2^128 beside an opposite infinity is NaN") {
    const Words huge{0x7F000000};
    const Words two{0x40000000};
    CHECK(result("gfx942:mfma.tf32.fp32", huge, two, 0) == 0x7F800000);
    CHECK(result("gfx942:mfma.tf32.fp32", huge, two, 0xFF800000) == 0x7FC00000);
    CHECK(result("gfx942:mfma.bf16.fp32", {0x7F00}, {0x4000}, 0xFF800000) == 0x7FC00000);
}

TEST_CASE("fp64 is a chain of fused multiply-adds on every unit that has it") {
    const std::uint64_t above_one = 0x3FF0000000000001;  // its square less its double plus one is 2^-104
    for (const char* key : {"sm_89:mma.fp64.fp64", "sm_120:mma.fp64.fp64", "gfx90a:mfma.fp64.fp64",
                            "gfx942:mfma.fp64.fp64", "sm_100:mma.fp64.fp64"}) {
        CAPTURE(std::string(key));
        CHECK(result(key, {above_one}, {above_one}, 0xBFF0000000000002) == 0x3970000000000000);
    }
}
