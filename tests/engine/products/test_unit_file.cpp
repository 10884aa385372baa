// Matrix units as files: what is written is read, what is wrong is named, and what is read computes.
#include <array>
#include <bit>
#include <fstream>

#include "engine/products/matmul.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/names.hpp"
#include "tests/engine/products/described_rows.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using ulp::DescribedUnit;
using ulp::TensorCoreModel;

/// The file of a Hopper row with one text instead of another.
std::string changed(const std::string& key, const std::string& from, const std::string& to) {
    std::string text = ulp::unit_json({"test", ulp::find_unit(key).model});
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
    try {
        ulp::unit_from_json(text, "my.json");
    } catch (const ulp::DataError& error) {
        return error.what();
    }
    return "";
}

constexpr const char* hopper = "sm_90:mma.fp16.fp32";

bool is_said(const std::string& text, const std::string& part) {
    const std::string said = refusal(text);
    CAPTURE(said);
    const bool found = said.find(part) != std::string::npos && said.starts_with("my.json");
    CHECK(found);
    return found;
}

TensorCoreModel read_model(const std::string& text) {
    return std::get<TensorCoreModel>(ulp::unit_from_json(text).model);
}

}  // namespace

TEST_CASE("every row, written as a file and read back, gives the same bits") { ulp::test::check_described_rows(1050); }

TEST_CASE("every variation is written and read") {
    TensorCoreModel model = ulp::unit_model<TensorCoreModel>(hopper);
    model.variation = {.normalise_products = true,
                       .product_format = ulp::formats::fp16,
                       .alignment = ulp::Rounding::up,
                       .addend = ulp::AddendEntry::beside_zeros_alone,
                       .order = ulp::LaneOrder::descending,
                       .flush_operands = true,
                       .flush_results = true,
                       .saturate = true,
                       .negative_zeros = true};
    model.nan = ulp::NanStyle::quiet;
    CHECK(read_model(ulp::unit_json({"test", model})) == model);
    model.variation = {.invert_opposing = true};
    model.instruction_k = model.group_size = 256;
    CHECK(read_model(ulp::unit_json({"test", model})) == model);
    TensorCoreModel steps = ulp::unit_model<TensorCoreModel>("arm:bfdot.bf16.fp32");
    CHECK(read_model(ulp::unit_json({"test", steps})) == steps);
    steps.rounding = ulp::Rounding::toward_zero;
    CHECK(read_model(ulp::unit_json({"test", steps})) == steps);
    model.instruction_k = model.group_size = 16;
    model.variation = {.sticky = true, .flush_addend = true};
    model.a_format = ulp::custom_format(5, -6, 7);  // no name
    model.a_format.unused_exponents = 0;
    model.fraction_bits = 100;
    CHECK(read_model(ulp::unit_json({"test", model})) == model);
}

TEST_CASE("optional fields may be left out, and are then as in the rows") {
    const std::string text = R"({"ulplab_unit": 1, "name": "mine", "kind": "floating_point", "summation": "fused",
        "a_format": "fp16", "b_format": "fp16", "accumulator": "fp32", "instruction_k": 16, "group_size": 16,
        "fraction_bits": 25, "rounding": "toward_zero", "output_fraction_bits": 23, "nan": "all_ones",
        "zero_product": "ignored", "zero_c": "ignored", "subnormal_c": "at_emin", "underflow_sign": "positive",
        "exponent_floor": -133})";
    CHECK(read_model(text) == ulp::unit_model<TensorCoreModel>(hopper));
}

TEST_CASE("what is wrong with a file is said in one sentence that names the field") {
    CHECK(is_said("{", "is not JSON"));
    CHECK(is_said("[]", "is not a JSON object"));
    CHECK(is_said("{}", "\"ulplab_unit\" is missing"));
    CHECK(is_said(changed(hopper, "\"ulplab_unit\": 1", "\"ulplab_unit\": 2"), "this program reads version 1"));
    CHECK(is_said(changed(hopper, "\"sticky\"", "\"stiky\""), "\"stiky\" is not known here; there are"));
    CHECK(is_said(changed(hopper, "\"sticky\"", "\"stiky\""), "c_enters, alignment, sticky"));
    CHECK(is_said(changed(hopper, "\"group_size\": 16,", ""), "\"group_size\" is missing; there are"));
    CHECK(
        is_said(changed(hopper, "\"group_size\": 16", "\"group_size\": \"16\""), "give a whole number from 1 to 256"));
    CHECK(is_said(changed(hopper, "\"group_size\": 16", "\"group_size\": 32"), "\"instruction_k\" (16)"));
    CHECK(is_said(changed(hopper, "\"sticky\": false", "\"sticky\": 0"), "give true or false"));
    CHECK(is_said(changed(hopper, "\"rounding\": \"toward_zero\"", "\"rounding\": \"toward\""),
                  "choose one of nearest_even"));
    CHECK(is_said(changed(hopper, "\"a_format\": \"fp16\"", "\"a_format\": \"fp61\""), "\"a_format\" is \"fp61\""));
    CHECK(is_said(changed(hopper, "\"flush\": []", "\"flush\": [\"b\"]"), "operands, c, results"));
    CHECK(is_said(changed(hopper, "\"fraction_bits\": 25", "\"fraction_bits\": 122"), "128 bits; choose at most 121"));
    CHECK(is_said(changed(hopper, "\"output_fraction_bits\": 23", "\"output_fraction_bits\": 24"), "fp32 has 23"));
    CHECK(is_said(changed(hopper, "\"sticky\": false,\n  \"invert_opposing\": false",
                          "\"sticky\": true,\n  \"invert_opposing\": true"),
                  "\"c_enters\" must then be with_products"));
    CHECK(is_said(changed("x86:vdpbf16ps.bf16.fp32", "\"negative_zeros\": false", "\"negative_zeros\": true"),
                  "must then be fused or pairwise"));
    CHECK(is_said(changed("gfx942:mfma.fp16.fp32", "\"nan\"", "\"rounding\": \"odd\", \"nan\""),
                  "\"rounding\" is not known"));
    CHECK(is_said(changed(hopper, "\"kind\": \"floating_point\"", "\"kind\": \"float\""),
                  "choose one of floating_point"));
    CHECK(is_said(changed(hopper, "\"accumulator\": \"fp32\"", "\"accumulator\": \"fp64\""), "fit fp32"));
    CHECK(is_said(changed(hopper, "\"accumulator\": \"fp32\"", "\"accumulator\": \"hif8\""), "is hif8; each format"));
    CHECK(is_said(changed(hopper, "\"a_format\": \"fp16\"", R"("a_format": {"name": "tenths", "values": [0, 0.1]})"),
                  "is tenths, a table of values; 0.1 has more than 1 binary digits"));
    CHECK(is_said(changed("x86:vdpbf16ps.bf16.fp32", "\"nan\"", "\"fraction_bits\": 3, \"nan\""),
                  "\"fraction_bits\" is not known"));
    CHECK(is_said(changed("gfx942:mfma.fp16.fp32", "\"fraction_bits\": 24", "\"fraction_bits\": 32"),
                  "choose at most 31"));
}

TEST_CASE("the largest F that 128 bits hold computes, and one more is refused") {
    const TensorCoreModel model = read_model(changed(hopper, "\"fraction_bits\": 25", "\"fraction_bits\": 121"));
    // Beside 1 a product of 2^-28 survives: F is larger than any distance of fp16 products.
    std::array<std::uint64_t, 16> a{0x3C00, 0x0400, 0xBC00}, b{0x3C00, 0x0400, 0x3C00};
    CHECK(ulp::instruction_dot(model, a.data(), b.data(), std::uint64_t{0}) == 0x31800000);
}

TEST_CASE("a file is a backend, with the kernels where its parameters are a row's") {
    const ulp::test::TemporaryFolder folder;
    const std::string file = folder / "unit.json";
    std::ofstream(file) << ulp::unit_json({"test", ulp::find_unit(hopper).model});
    const auto described = ulp::make_backend("soft:" + file);
    const auto row = ulp::make_backend("soft:h100");
    const ulp::ProductTypes types{ulp::formats::fp16, ulp::formats::fp32};
    CHECK(described->name() == "soft:" + file);
    CHECK(described->promised_model(types) == file);
    // Its identity is that of the parameters, whatever the file's name for them and its blanks.
    const auto identity_of = [&](const std::string& text) {
        std::ofstream(file) << text;
        return ulp::make_backend("soft:" + file)->identity();
    };
    const std::string text = ulp::unit_json({"test", ulp::find_unit(hopper).model});
    CHECK(described->identity().starts_with("soft:" + file + " of SHA-256 "));
    CHECK(described->identity() == identity_of(ulp::unit_json({"other", ulp::find_unit(hopper).model}) + "\n "));
    CHECK(described->identity() != identity_of(changed(hopper, "\"fraction_bits\": 25", "\"fraction_bits\": 15")));
    CHECK(described->identity() == identity_of(text));
    CHECK(row->identity() == "soft:h100");
    CHECK_FALSE(described->has_product({ulp::formats::bf16, ulp::formats::fp32}));
    ulp::Matrix a(5, 40), b(40, 7);
    for (ulp::Index i = 0; i < 200; ++i) a.data()[i] = static_cast<float>(i % 17 - 8) / 4;
    for (ulp::Index i = 0; i < 280; ++i) b.data()[i] = static_cast<float>(i % 23 - 11) / 1024;
    CHECK(ulp::matmul(*described, types, a, b) == ulp::matmul(*row, types, a, b));
    CHECK_THROWS_AS(ulp::make_backend("soft:no_such_file.json"), ulp::DataError);
}

namespace {

/// Random parameters of a unit that kernels might take.
TensorCoreModel random_unit(std::uint64_t trial) {
    const auto draw = [&](std::uint64_t index, int least, int most) {
        return least + static_cast<int>(ulp::random_word(trial, index) % static_cast<unsigned>(most - least + 1));
    };
    const ulp::FloatFormat inputs[] = {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::e4m3, ulp::formats::e2m1,
                                       ulp::format_by_name("hif8")};
    TensorCoreModel model;
    model.a_format = model.b_format = inputs[draw(0, 0, 4)];
    model.group_size = draw(2, 1, 8) * 4;
    model.instruction_k = std::min(draw(1, 1, 4) * model.group_size, 64) / model.group_size * model.group_size;
    model.fraction_bits = draw(3, 8, 30);
    switch (draw(4, 0, 4)) {
        case 0:
            model.accumulator = ulp::formats::fp16;
            model.rounding = ulp::Rounding::nearest_even;
            model.output_fraction_bits = 10;
            break;
        case 1:
            model.summation = ulp::Summation::late_addend;
            model.rounding = ulp::Rounding::nearest_even;
            model.nan = ulp::NanStyle::quiet;
            break;
        case 2: model.output_fraction_bits = 13; break;
        default: break;
    }
    return model;
}

/// Elements of a random product in which the kernels and the definition differ.
std::int64_t differing_elements(const TensorCoreModel& model, std::uint64_t trial) {
    constexpr std::int64_t m = 6, n = 9, k = 130;
    std::vector<float> a(m * k), b(k * n), fast(m * n), plain(m * n);
    for (std::size_t i = 0; i < a.size() + b.size(); ++i) {
        const ulp::DataClass data = ulp::all_classes[trial % 5];
        const std::uint64_t code = ulp::random_code(model.a_format, data, ulp::random_word(trial, 100 + i));
        (i < a.size() ? a[i] : b[i - a.size()]) =
            ulp::in_fp32_container(model.a_format, static_cast<std::uint32_t>(code));
    }
    ulp::GemmProblem p{{a.data(), m, k}, {b.data(), k, n}, {}, {fast.data(), m, n}};
    ulp::gemm(model, p);
    p.d.data = plain.data();
    ulp::gemm_plain(model, p);
    std::int64_t differ = 0;
    for (std::size_t i = 0; i < fast.size(); ++i) {
        differ += std::bit_cast<std::uint32_t>(fast[i]) == std::bit_cast<std::uint32_t>(plain[i]) ? 0 : 1;
    }
    return differ;
}

}  // namespace

TEST_CASE("whole products of described units are the definition's, whatever the parameters") {
    for (std::uint64_t trial = 0; trial < 400; ++trial) {
        const TensorCoreModel model = random_unit(trial);
        const std::string text = ulp::unit_json({"random", model});
        CAPTURE(trial);
        CAPTURE(text);
        REQUIRE(read_model(text) == model);
        CHECK(differing_elements(model, trial) == 0);
    }
}
