// Discovery recovers, from answers alone, what every row of the table says, and what the processor's units are.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <iostream>
#include <string>
#include <vector>

#include "softfloat/float.hpp"
#include "softfloat/lab/block_scaled_discovery.hpp"
#include "softfloat/lab/discovery.hpp"
#include "softfloat/lab/integer_discovery.hpp"
#include "softfloat/lab/operand_discovery.hpp"
#include "softfloat/lab/x86_units.hpp"

namespace {

using ulp::Discovery;
using ulp::DotUnit;
using ulp::SummationTree;

/// A unit whose operands and sum are floats.
template <class Dot>
DotUnit fp32_unit(int k, const Dot& dot) {
    const auto value = [](std::uint64_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code)); };
    return {ulp::formats::fp32, ulp::formats::fp32, ulp::formats::fp32, k,
            [=](std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
                std::vector<float> x, y;
                for (const auto code : a) x.push_back(value(code));
                for (const auto code : b) y.push_back(value(code));
                return std::uint64_t{std::bit_cast<std::uint32_t>(dot(x, y, value(c)))};
            }};
}

}  // namespace

TEST_CASE("trees of the units have the shapes that the specification describes") {
    const auto text = [](const char* key) { return ulp::tree_of(ulp::unit_model<ulp::TensorCoreModel>(key)).text(); };
    CHECK(text("sm_70:mma.fp16.fp32") == "(c 0-3)");
    CHECK(text("sm_80:mma.fp16.fp32") == "((c 0-7) 8-15)");
    CHECK(text("sm_80:mma.tf32.fp32") == "((c 0-3) 4-7)");
    CHECK(text("sm_90:mma.fp16.fp32") == "(c 0-15)");
    CHECK(text("sm_90:wgmma.e4m3.fp32") == "(c 0-31)");
    CHECK(text("sm_90:mma.e4m3.fp32") ==
          "(c ((0 1 4 5 8 9 12 13 16 17 20 21 24 25 28 29) 2 3 6 7 10 11 14 15 18 19 22 23 26 27 30 31))");
    CHECK(text("x86:vdpbf16ps.bf16.fp32") == "((c 1) 0)");
    CHECK(text("sm_80:mma.fp64.fp64") == "((((c 0) 1) 2) 3)");
    CHECK(text("gfx90a:mfma.bf16.fp32") == "((((c (0 1)) (2 3)) (4 5)) (6 7))");
    CHECK(text("gfx942:mfma.fp16.fp32") == "((c 0-7) 8-15)");
}

TEST_CASE("discovery recovers every row of the table from its own unit") {
    for (const ulp::UnitRow& row : ulp::unit_table()) {
        if (row.as<ulp::TensorCoreModel>() == nullptr) continue;
        const auto& model = *row.as<ulp::TensorCoreModel>();
        CAPTURE(row.key());
        const DotUnit unit = ulp::unit_of(model);
        const Discovery found = ulp::discover(unit);
        CAPTURE(found.tree.text());
        CAPTURE(found.fraction_bits.value_or(-1));
        CAPTURE(found.output_fraction_bits);
        CHECK(ulp::agrees(found, model));
        const auto rows = ulp::matching_rows(unit, found);
        CHECK(std::find(rows.begin(), rows.end(), &row) != rows.end());
    }
}

namespace {

/// A unit of fp32 operands that a row of tf32 operands gets with `rounding`.
DotUnit cutting_unit(const char* key, ulp::Rounding rounding) {
    const auto& model = ulp::unit_model<ulp::TensorCoreModel>(key);
    const auto cut = [=](std::span<const std::uint64_t> codes) {
        std::vector<std::uint64_t> narrow;
        for (const std::uint64_t code : codes) {
            ulp::Context context{.rounding = rounding};
            narrow.push_back(ulp::convert_bits(model.a_format, ulp::formats::fp32, code, context));
        }
        return narrow;
    };
    const DotUnit inner = ulp::unit_of(model);
    return {ulp::formats::fp32, ulp::formats::fp32, ulp::formats::fp32, inner.k,
            [=](std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
                return inner.dot(cut(a), cut(b), c);
            }};
}

float rounded_to_bf16(float x) { return static_cast<float>(ulp::bf16(x)); }

}  // namespace

TEST_CASE("operands that are cut before they are multiplied are recognised, and the unit behind them is found") {
    for (const ulp::Rounding rounding :
         {ulp::Rounding::toward_zero, ulp::Rounding::nearest_even, ulp::Rounding::nearest_away}) {
        const DotUnit unit = cutting_unit("sm_80:mma.tf32.fp32", rounding);
        const ulp::OperandDiscovery found = ulp::discover_operands(unit);
        CHECK(found.cuts());
        CHECK(found.a == ulp::OperandReading{10, rounding, true});
        CHECK(found.b == found.a);
        CHECK(found.checked > 0);
        CHECK(found.differ == 0);
        const DotUnit narrow = ulp::narrowed(unit, found);
        CHECK(narrow.a_format == ulp::formats::tf32);
        const auto rows = ulp::matching_rows(narrow, ulp::discover(narrow));
        CHECK(std::ranges::any_of(rows, [](const auto* row) { return row->key() == "sm_80:mma.tf32.fp32"; }));
        CHECK(ulp::matching_rows(unit, ulp::discover(unit)).empty());
    }
}

TEST_CASE("operands that are read whole are not called cut, whatever happens to their products and sums") {
    for (const char* key :
         {"gfx908:mfma.fp32.fp32", "sm_90:mma.fp16.fp32", "sm_90:wgmma.e4m3.fp32", "sm_80:mma.fp16.fp16",
          "sm_80:mma.fp64.fp64", "arm:bfdot.bf16.fp32", "gfx942:mfma.bf16.fp32"}) {
        CAPTURE(std::string(key));
        CHECK_FALSE(ulp::discover_operands(ulp::unit_of(ulp::unit_model<ulp::TensorCoreModel>(key))).cuts());
    }
    ulp::TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    model.fraction_bits = 8;  // of its terms, and of c
    CHECK_FALSE(ulp::discover_operands(ulp::unit_of(model)).cuts());
}

TEST_CASE("fp32 products from three of bf16 are recognised by what they leave out") {
    const DotUnit unit = fp32_unit(4, [](const auto& x, const auto& y, float c) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            const float xh = rounded_to_bf16(x[i]), xl = rounded_to_bf16(x[i] - xh);
            const float yh = rounded_to_bf16(y[i]), yl = rounded_to_bf16(y[i] - yh);
            c += xl * yh;
            c += xh * yl;
            c += xh * yh;
        }
        return c;
    });
    const ulp::OperandDiscovery found = ulp::discover_operands(unit);
    CHECK(found.piece_bits == 7);
    CHECK(found.cuts());
    CHECK(found.evidence.back().find("pieces of 8 bits") != std::string::npos);
}

TEST_CASE("FP6 and FP4 units with other parameters are told apart, as far as the formats can ask") {
    for (const char* key : {"sm_100:tcgen05.e2m1.fp32", "sm_100:tcgen05.e2m3.fp32", "sm_120:mma.e3m2.fp32",
                            "sm_120:mma.e2m1.fp16", "sm_120:mma.e2m3.fp16", "sm_100:tcgen05.e3m2.fp16"}) {
        CAPTURE(std::string(key));
        const ulp::TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>(key);
        const bool narrow_sum = model.accumulator == ulp::formats::fp16;
        CHECK_FALSE(ulp::can_mask(ulp::unit_of(model)));
        // Discovery finds what was changed, and does not take the changed unit for the row.
        const auto is_found = [&](auto change) {
            ulp::TensorCoreModel other = model;
            change(other);
            const Discovery found = ulp::discover(ulp::unit_of(other));
            INFO(found.tree.text());
            return ulp::agrees(found, other) && !ulp::agrees(found, model);
        };
        CHECK(is_found([](auto& m) { m.fraction_bits = 26; }));
        CHECK(is_found([](auto& m) { m.group_size = 16; }));
        CHECK(is_found([](auto& m) { m.group_size = 8; }));
        CHECK(is_found([](auto& m) { m.variation.normalise_products = true; }));
        CHECK(is_found(
            [&](auto& m) { m.rounding = narrow_sum ? ulp::Rounding::toward_zero : ulp::Rounding::nearest_even; }));
        CHECK(is_found([](auto& m) { m.variation.alignment = ulp::Rounding::down; }));
        if (!narrow_sum) CHECK(is_found([](auto& m) { m.output_fraction_bits = 13; }));
        ulp::TensorCoreModel late = model;
        late.variation.addend = ulp::AddendEntry::after_products;
        CHECK_FALSE(ulp::agrees(ulp::discover(ulp::unit_of(late)), model));
        // In fp16 no c is large enough to cut a product.
        CHECK(ulp::discover(ulp::unit_of(model)).alignment.has_value() == !narrow_sum);
    }
}

TEST_CASE("discovery recovers every integer row, and each of its parameters shows") {
    for (const ulp::UnitRow& row : ulp::unit_table()) {
        if (row.as<ulp::IntegerModel>() == nullptr) continue;
        const auto& model = *row.as<ulp::IntegerModel>();
        CAPTURE(row.key());
        const ulp::IntegerDiscovery found = ulp::discover(ulp::unit_of(model));
        CHECK(found.model == model);
        const auto rows = ulp::matching_rows(found);
        CHECK(std::find(rows.begin(), rows.end(), &row) != rows.end());
        for (const ulp::UnitRow* same : rows) CHECK(*same->as<ulp::IntegerModel>() == model);
        const bool negative = model.a_signed || model.b_signed;
        CHECK(found.clamps_once == (model.saturates && negative));
    }
}

TEST_CASE("discovery recovers every block-scaled row") {
    for (const ulp::UnitRow& row : ulp::unit_table()) {
        if (row.as<ulp::BlockScaledModel>() == nullptr) continue;
        const auto& model = *row.as<ulp::BlockScaledModel>();
        CAPTURE(row.key());
        const ulp::ScaledUnit unit = ulp::unit_of(model);
        const ulp::ScaledDiscovery found = ulp::discover(unit);
        CAPTURE(found.products.tree.text());
        CAPTURE(found.products.fraction_bits.value_or(-1));
        CAPTURE(found.products.exact_products.value_or(-1));
        CHECK(ulp::agrees(found, model));
        // Nothing was left unasked.
        CHECK(found.products.exact_products == model.exact_products);
        CHECK(found.products.alignment == ulp::Rounding::toward_zero);
        CHECK(found.normalises_scales.has_value() == (model.scale_format.fraction_bits > 0));
        const auto rows = ulp::matching_rows(unit, found);
        CHECK(std::find(rows.begin(), rows.end(), &row) != rows.end());
        for (const ulp::UnitRow* same : rows)
            CHECK(same->as<ulp::BlockScaledModel>()->scale_block == model.scale_block);
    }
}

TEST_CASE("what the scales of NVFP4 and of MX mean is found") {
    const auto found = [](const char* key) {
        return ulp::discover(ulp::unit_of(ulp::unit_model<ulp::BlockScaledModel>(key)));
    };
    const ulp::ScaledDiscovery nvf4 = found("sm_120:mma.nvf4.e2m1.fp32");
    CHECK(nvf4.least_scale == 0x1p-9);
    CHECK(nvf4.greatest_scale == 448);
    CHECK(nvf4.products.tree.text() == "(c 0-63)");
    const ulp::ScaledDiscovery mxf8 = found("sm_100:tcgen05.mxf8f6f4.e5m2.fp32");
    CHECK(mxf8.least_scale == 0x1p-127);
    CHECK(mxf8.greatest_scale == 0x1p127);
    CHECK(mxf8.products.tree.text() == "(c 0-31)");
}

TEST_CASE("block-scaled units with other parameters are told apart") {
    for (const ulp::UnitRow& row : ulp::unit_table()) {
        if (row.as<ulp::BlockScaledModel>() == nullptr) continue;
        const auto& model = *row.as<ulp::BlockScaledModel>();
        if (!row.key().starts_with("sm_120")) continue;
        CAPTURE(row.key());
        // Discovery finds what was changed, and does not take the changed unit for the row.
        const auto is_found = [&](auto change) {
            ulp::BlockScaledModel other = model;
            change(other, other.unscaled);
            const ulp::ScaledDiscovery found = ulp::discover(ulp::unit_of(other));
            INFO(found.products.tree.text());
            return ulp::agrees(found, other) && !ulp::agrees(found, model);
        };
        const bool exact = model.exact_products > 1;
        const bool powers = model.scale_format == ulp::formats::e8m0;
        CHECK(is_found([](auto&, auto& m) { m.fraction_bits += 1; }));
        CHECK(is_found([](auto&, auto& m) { m.fraction_bits -= 1; }));
        CHECK(is_found([](auto&, auto& m) { m.rounding = ulp::Rounding::nearest_even; }));
        CHECK(is_found([](auto&, auto& m) { m.output_fraction_bits = 13; }));
        CHECK(is_found([](auto&, auto& m) { m.variation.alignment = ulp::Rounding::down; }));
        if (!exact) CHECK(is_found([](auto&, auto& m) { m.variation.normalise_products = true; }));
        CHECK(is_found([](auto& m, auto&) { m.scale_block = m.scale_block == 32 ? 16 : 32; }));
        const auto& other_scale = powers ? ulp::formats::e4m3 : ulp::formats::e8m0;
        if (exact) CHECK(is_found([&](auto& m, auto&) { m.scale_format = other_scale; }));
        if (exact) CHECK(is_found([](auto& m, auto&) { m.exact_products = 8; }));
        // Terms of one product know scales that are powers of two only.
        if (exact && powers) CHECK(is_found([](auto& m, auto&) { m.exact_products = 1; }));
    }
}

TEST_CASE("a unit whose scales come after the alignment is no row of the table") {
    const ulp::BlockScaledModel& model = ulp::unit_model<ulp::BlockScaledModel>("sm_120:mma.mxf4.e2m1.fp32");
    ulp::ScaledUnit late = ulp::unit_of(model);
    // Blocks are summed with scales of one; the scaled sums and c meet in fp32.
    late.dot = [&](auto a, auto b, auto x, auto y, std::uint64_t c) {
        const std::vector<std::uint64_t> ones(64, 127);
        const auto value = [](std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word)); };
        float sum = value(c);
        for (std::size_t block = 0; block < 2; ++block) {
            std::vector<std::uint64_t> part(a.begin(), a.end());
            std::fill_n(part.begin() + (block == 0 ? 32 : 0), 32, 0);
            const float products = value(ulp::unit_of(model).dot(part, b, ones, ones, 0));
            const auto scale = [&](auto codes) {
                return ulp::in_fp32_container(model.scale_format, static_cast<std::uint32_t>(codes[block]));
            };
            sum += products * scale(x) * scale(y);
        }
        return std::uint64_t{std::bit_cast<std::uint32_t>(sum)};
    };
    const ulp::ScaledDiscovery found = ulp::discover(late);
    CHECK(found.scale_format == ulp::formats::e8m0);
    CHECK(found.scale_block == 32);
    CHECK_FALSE(found.scales_before_alignment);
    CHECK(ulp::matching_rows(late, found).empty());
}

TEST_CASE("a row with another parameter is not taken for the right one") {
    const ulp::TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>("sm_80:mma.fp16.fp32");
    const auto changed = [&](auto change) {
        ulp::TensorCoreModel wrong = model;
        change(wrong);
        return ulp::discover(ulp::unit_of(wrong));
    };
    CHECK_FALSE(ulp::agrees(changed([](auto& m) { m.fraction_bits = 23; }), model));
    CHECK_FALSE(ulp::agrees(changed([](auto& m) { m.group_size = 16; }), model));
    CHECK_FALSE(ulp::agrees(changed([](auto& m) { m.group_size = 4; }), model));
    CHECK_FALSE(ulp::agrees(changed([](auto& m) { m.rounding = ulp::Rounding::nearest_even; }), model));
    CHECK_FALSE(ulp::agrees(changed([](auto& m) { m.output_fraction_bits = 13; }), model));
    CHECK_FALSE(ulp::agrees(changed([](auto& m) { m.variation.normalise_products = true; }), model));
    CHECK_FALSE(ulp::agrees(changed([](auto& m) { m.variation.alignment = ulp::Rounding::down; }), model));
    CHECK_FALSE(ulp::agrees(changed([](auto& m) { m.variation.addend = ulp::AddendEntry::after_products; }), model));
}

TEST_CASE("loops show their trees") {
    const DotUnit ascending = fp32_unit(5, [](const auto& a, const auto& b, float c) {
        for (std::size_t k = 0; k < a.size(); ++k) c += a[k] * b[k];
        return c;
    });
    CHECK(ulp::discover(ascending).tree.text() == "(((((c 0) 1) 2) 3) 4)");
    const DotUnit two_sums = fp32_unit(6, [](const auto& a, const auto& b, float c) {
        float sums[2] = {0, 0};
        for (std::size_t k = 0; k < a.size(); ++k) sums[k % 2] += a[k] * b[k];
        return c + (sums[0] + sums[1]);
    });
    CHECK(ulp::discover(two_sums).tree.text() == "(c (((0 2) 4) ((1 3) 5)))");
    CHECK(ulp::discover(two_sums).rounding == ulp::Rounding::nearest_even);
    CHECK(ulp::discover(two_sums).output_fraction_bits == 23);
}

TEST_CASE("vdpbf16ps of this processor is discovered") {
    if (!ulp::x86::has_vdpbf16ps()) {
        std::cout << "skipped: no AVX512-BF16 on this processor\n";
        return;
    }
    const DotUnit unit = ulp::x86::vdpbf16ps_unit();
    const Discovery found = ulp::discover(unit);
    CHECK(found.tree.text() == "((c 1) 0)");
    CHECK(ulp::agrees(found, ulp::unit_model<ulp::TensorCoreModel>("x86:vdpbf16ps.bf16.fp32")));
}

TEST_CASE("tdpbf16ps of this processor is discovered") {
    if (!ulp::x86::has_tdpbf16ps()) {
        std::cout << "skipped: no AMX with bf16 on this processor\n";
        return;
    }
    const Discovery found = ulp::discover(ulp::x86::tdpbf16ps_unit());
    CHECK(ulp::agrees(found, ulp::unit_model<ulp::TensorCoreModel>("x86:tdpbf16ps.bf16.fp32")));
}
