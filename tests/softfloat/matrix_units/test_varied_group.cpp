// Groups of units that no row of the table describes: the general definition is the rows' where nothing is varied, and
// each variation does what it says on inputs worked out by hand.
#include <doctest/doctest.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm_path.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "tests/softfloat/matrix_units/unit_blocks.hpp"

namespace {

using ulp::AddendEntry;
using ulp::Rounding;
using ulp::TensorCoreModel;

/// 16 products of fp16 with c in one group, F = 25, the sum toward zero.
TensorCoreModel plain() {
    TensorCoreModel model;
    model.policies = {ulp::ZeroProduct::ignored, ulp::ZeroAddend::ignored, ulp::SubnormalAddend::at_emin,
                      ulp::UnderflowSign::positive, ulp::no_exponent_floor};
    return model;
}

template <class Change>
TensorCoreModel varied(const Change& change) {
    TensorCoreModel model = plain();
    change(model.variation);
    return model;
}

using Lanes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

std::uint32_t dot(const TensorCoreModel& model, const Lanes& lanes, std::uint32_t c = 0) {
    std::array<std::uint32_t, ulp::max_instruction_k> a{}, b{};
    for (std::size_t i = 0; i < lanes.size(); ++i) std::tie(a[i], b[i]) = lanes[i];
    return ulp::instruction_dot(model, a.data(), b.data(), c);
}

constexpr std::uint32_t one = 0x3C00, minus_one = 0xBC00, tiny = 0x0800;  // tiny: 2^-13
constexpr std::uint32_t fp32_one = 0x3F800000, infinity = 0x7F800000;

}  // namespace

TEST_CASE("the general definition gives the bits of every fused row") {
    for (const auto& each : ulp::rows_of<TensorCoreModel>()) {
        const ulp::UnitRow& row = each.row;
        const TensorCoreModel& model = each.model;
        if (model.summation != ulp::Summation::fused) continue;
        CAPTURE(row.key());
        std::int64_t differ = 0;
        for (const ulp::DataClass data : ulp::all_classes) {
            for (const ulp::test::UnitBlock& block :
                 ulp::test::random_blocks(ulp::test::formats_of(row.model), data, 100, 5)) {
                const std::uint64_t* a = block.a.data();
                const std::uint64_t* b = block.b.data();
                std::uint64_t c = block.c;
                for (int k = 0; k < model.instruction_k; k += model.group_size) {
                    c = ulp::varied_group(model, a + k, b + k, c, model.group_size);
                }
                differ += c == ulp::test::result_of(row.model, block) ? 0 : 1;
            }
        }
        CHECK(differ == 0);
    }
}

TEST_CASE("aligned terms are cut as the variation says, or leave a sticky bit") {
    const auto left = [](const TensorCoreModel& model, bool negative) {
        // 1.5 * 2^-13 times 2^-13: 1.5 * 2^-26, 3/4 of 2^-25
        const std::uint32_t x = 0x0A00 | (negative ? 0x8000U : 0U);
        return dot(model, {{one, one}, {minus_one, one}, {x, tiny}});
    };
    const auto cut = [](Rounding rounding) { return varied([=](auto& v) { v.alignment = rounding; }); };
    constexpr std::uint32_t last = 0x33000000;  // 2^-25
    CHECK(left(plain(), false) == 0);
    CHECK(left(plain(), true) == 0);
    CHECK(left(cut(Rounding::down), false) == 0);
    CHECK(left(cut(Rounding::down), true) == (last | 0x80000000));
    CHECK(left(cut(Rounding::up), false) == last);
    CHECK(left(cut(Rounding::up), true) == 0);
    CHECK(left(cut(Rounding::nearest_even), false) == last);
    CHECK(left(cut(Rounding::nearest_even), true) == (last | 0x80000000));
    // With a sticky bit 3/4 of the last place counts as half of it.
    const TensorCoreModel sticky = varied([](auto& v) { v.sticky = true; });
    CHECK(left(sticky, false) == 0x32800000);
    CHECK(left(sticky, true) == 0xB2800000);
}

TEST_CASE("c enters with the products, after them, beside zeros alone, or never") {
    const auto with = [](AddendEntry entry) { return varied([=](auto& v) { v.addend = entry; }); };
    const Lanes product{{one, one}};
    CHECK(dot(plain(), product, fp32_one) == 0x40000000);
    CHECK(dot(with(AddendEntry::beside_zeros_alone), product, fp32_one) == fp32_one);
    CHECK(dot(with(AddendEntry::beside_zeros_alone), {{0, one}}, 0x40400000) == 0x40400000);
    CHECK(dot(with(AddendEntry::never), {}, fp32_one) == 0);
    // 3/4 of the last place of c = 1: cut with the products, rounded to nearest after them.
    const Lanes part{{0x0E00, 0x0C00}};
    CHECK(dot(plain(), part, fp32_one) == fp32_one);
    CHECK(dot(with(AddendEntry::after_products), part, fp32_one) == fp32_one + 1);
}

TEST_CASE("products are rounded to a format, and normalised") {
    // 1.0009765625^2 = 1 + 2^-9 + 2^-20: fp16 keeps 1 + 2^-9.
    const TensorCoreModel fp16 = varied([](auto& v) { v.product_format = ulp::formats::fp16; });
    CHECK(dot(plain(), {{0x3C01, 0x3C01}}) == 0x3F804008);
    CHECK(dot(fp16, {{0x3C01, 0x3C01}}) == 0x3F804000);
    CHECK(dot(fp16, {{0x7800, 0x4000}}) == infinity);  // 2^16
    CHECK(dot(fp16, {{tiny, tiny}}) == 0);             // 2^-26
    // 1.5 * 1.5 and -2^-25 (probe P2): a normalised product cuts it.
    const TensorCoreModel normalised = varied([](auto& v) { v.normalise_products = true; });
    CHECK(dot(plain(), {{0x3E00, 0x3E00}, {0x8C00, tiny}}) == 0x400FFFFF);
    CHECK(dot(normalised, {{0x3E00, 0x3E00}, {0x8C00, tiny}}) == 0x40100000);
}

TEST_CASE("subnormal operands, c and results are flushed separately, sums saturate, zeros keep their sign") {
    const TensorCoreModel operands = varied([](auto& v) { v.flush_operands = true; });
    CHECK(dot(plain(), {{1, one}}) == 0x33800000);
    CHECK(dot(operands, {{1, one}}) == 0);
    const TensorCoreModel addend = varied([](auto& v) { v.flush_addend = true; });
    CHECK(dot(plain(), {}, 0x00000200) == 0x00000200);
    CHECK(dot(addend, {}, 0x00000200) == 0);
    const TensorCoreModel results = varied([](auto& v) { v.flush_results = true; });
    CHECK(dot(results, {}, 0x00000200) == 0);
    CHECK(dot(results, {}, 0x80000200) == 0);
    CHECK(dot(results, {{1, 1}}) == 0x27800000);
    const TensorCoreModel saturating = varied([](auto& v) { v.saturate = true; });
    TensorCoreModel narrow = saturating;
    narrow.accumulator = ulp::formats::fp16;
    narrow.rounding = Rounding::nearest_even;
    narrow.output_fraction_bits = 10;
    CHECK(dot(narrow, {{0x7BFF, 0x4000}}) == 0x7BFF);
    CHECK(dot(narrow, {{0x7C00, one}}) == 0x7C00);  // an infinite operand is not an overflow
    const TensorCoreModel zeros = varied([](auto& v) { v.negative_zeros = true; });
    Lanes negative(16, {0x8000, one});
    CHECK(dot(plain(), negative, 0x80000000) == 0);
    CHECK(dot(zeros, negative, 0x80000000) == 0x80000000);
    CHECK(dot(zeros, {{0x8000, one}}, 0x80000000) == 0);
}

TEST_CASE("an instruction takes its products in another order") {
    TensorCoreModel chain = plain();
    chain.summation = ulp::Summation::fma_chain;
    chain.rounding = Rounding::nearest_even;
    chain.instruction_k = 3;
    // 2^-26 twice beside 1: lost if 1 comes first.
    const Lanes lanes{{one, one}, {tiny, 0x1400}, {tiny, 0x1400}};   // 2^-13 * 2^-10 = 2^-23, seen
    const Lanes halves{{one, one}, {tiny, 0x1000}, {tiny, 0x1000}};  // 2^-24 each
    CHECK(dot(chain, lanes) == fp32_one + 2);
    CHECK(dot(chain, halves) == fp32_one);
    chain.variation.order = ulp::LaneOrder::descending;
    CHECK(dot(chain, halves) == fp32_one + 1);
    chain.variation.order = ulp::LaneOrder::even_first;
    CHECK(dot(chain, {{tiny, 0x1000}, {one, one}, {tiny, 0x1000}}) == fp32_one + 1);
}

TEST_CASE("no kernel computes a varied unit") {
    const TensorCoreModel row = ulp::unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32");
    CHECK(ulp::choose_path(row, 64, 64, 64).kernel == ulp::GemmKernel::fused_groups);
    TensorCoreModel other = row;
    other.variation.sticky = true;
    CHECK(ulp::choose_path(other, 64, 64, 64).kernel == ulp::GemmKernel::definition);
    other = row;
    other.nan = ulp::NanStyle::quiet;
    CHECK(ulp::choose_path(other, 64, 64, 64).kernel == ulp::GemmKernel::definition);
}

TEST_CASE("terms against c's sign are inverted: the published value of a gfx11, and no error where all signs agree") {
    const TensorCoreModel& model = ulp::unit_model<TensorCoreModel>("gfx11:wmma.fp16.fp32");
    const Lanes terms{{0x4200, 0x4800}, {0x4800, 0x4400}};  // 3 * 8, 8 * 4
    CHECK(dot(model, terms, 0xBF800000) == 0x425C0001);     // -1 + 24 + 32 = 55.0000038
    CHECK(dot(model, terms, fp32_one) == 0x42640000);       // 57
    TensorCoreModel negated = model;
    negated.variation.invert_opposing = false;
    CHECK(dot(negated, terms, 0xBF800000) == 0x425C0000);
}

TEST_CASE("steps of a chain are rounded to odd, overflow to infinity, are flushed and keep the sign of zeros") {
    const TensorCoreModel& model = ulp::unit_model<TensorCoreModel>("arm:bfdot.bf16.fp32");
    constexpr std::uint32_t one_bf16 = 0x3F80, tiny_bf16 = 0x3080, max_bf16 = 0x7F7F;  // 2^-30
    CHECK(dot(model, {{one_bf16, one_bf16}, {one_bf16, tiny_bf16}}) == 0x3F800001);
    CHECK(dot(model, {{one_bf16, one_bf16}, {one_bf16, tiny_bf16 | 0x8000}}) == 0x3F7FFFFF);
    CHECK(dot(model, {{max_bf16, max_bf16}}) == infinity);
    CHECK(dot(model, {{0x0001, one_bf16}}, 0x00000001) == 0);
    CHECK(dot(model, {{0x8000, one_bf16}, {0x8000, one_bf16}}, 0x80000000) == 0x80000000);
    TensorCoreModel other = model;
    other.rounding = Rounding::toward_zero;
    CHECK(dot(other, {{one_bf16, one_bf16}, {one_bf16, tiny_bf16}}) == fp32_one);
    CHECK(dot(other, {{max_bf16, max_bf16}}) == infinity);
    other.rounding = Rounding::nearest_even;
    CHECK(dot(other, {{one_bf16, one_bf16}, {one_bf16, tiny_bf16 | 0x8000}}) == fp32_one);
}

TEST_CASE("an instruction adds up to 256 products at once") {
    TensorCoreModel model = plain();
    model.instruction_k = model.group_size = 256;
    const Lanes ones(256, {one, one});
    CHECK(dot(model, ones) == 0x43800000);  // 256
    model.variation.sticky = true;          // by way of 128-bit sums
    CHECK(dot(model, ones) == 0x43800000);
}
