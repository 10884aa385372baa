// Formats as JSON, and P3109's formats against the working group's tables of values.
#include <doctest/doctest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/files/format_file.hpp"
#include "engine/files/sha256.hpp"
#include "softfloat/comparison.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"
#include "softfloat/text.hpp"
#include "softfloat/value_table.hpp"
#include "tests/shared_data.hpp"

namespace {

using namespace ulp;

/// The values of all codes with a mark between them.
std::string values_of(const FloatFormat& format, char between) {
    std::string text;
    for (std::uint64_t code = 0; code >> format.code_bits() == 0; ++code) {
        if (code != 0) text += between;
        text += to_exact_code(format, code);
    }
    return text;
}

FloatFormat from(const char* text) { return format_from_json(nlohmann::json::parse(text)); }

}  // namespace

TEST_CASE("P3109's formats have the values of the working group's tables") {
    const auto folder = ulp::test::shared_folder("p3109");
    if (!folder) return;
    std::ifstream digests(*folder / "digests.csv");
    std::string line;
    std::getline(digests, line);
    int compared = 0;
    while (std::getline(digests, line)) {
        const std::string name = line.substr(0, line.find(','));
        INFO(name);
        CHECK(sha256_of(std::string_view(values_of(format_by_name(name), '\n'))) == line.substr(line.rfind(',') + 1));
        ++compared;
    }
    CHECK(compared == 246);
    std::ifstream tables(*folder / "tables_k3_to_k6.txt");
    for (compared = 0; std::getline(tables, line); ++compared) {
        const std::size_t space = line.find(' ');
        CHECK(values_of(format_by_name(line.substr(0, space)), ' ') == line.substr(space + 1));
    }
    CHECK(compared == 64);
}

TEST_CASE("a format is read from its fields, with IEEE's where none are given") {
    CHECK(from(R"({"exponent_bits": 5, "fraction_bits": 10})") == formats::fp16);
    CHECK(from(R"({"exponent_bits": 4, "fraction_bits": 3, "specials": "all_ones_nan"})") == formats::e4m3);
    CHECK(from(R"({"exponent_bits": 8, "fraction_bits": 0, "bias": 127, "specials": "all_ones_nan", "sign": false,
                   "subnormals": false})") == formats::e8m0);
    CHECK(from(R"({"exponent_bits": 5, "fraction_bits": 2, "bias": 16, "specials": "one_nan_infinity"})") ==
          format_by_name("binary8p3se"));
    CHECK(from(R"("e5m2")") == formats::e5m2);
    CHECK(from(R"({"exponent_bits": 11, "fraction_bits": 52})") == formats::fp64);
    CHECK(from(R"({"exponent_bits": 5, "fraction_bits": 2, "saturate": "SatFinite"})").saturation ==
          Saturation::sat_finite);
    const FloatFormat nf2 = from(R"({"name": "nf2", "values": [-1, -0.25, 0.25, 1], "saturate": "SatFinite"})");
    CHECK(nf2.code_bits() == 2);
    CHECK(name_of(nf2) == "nf2");
    Context context;
    CHECK(parse_bits(nf2, "0.3", context) == 2);
    CHECK(parse_bits(nf2, "0", context) == 2);                   // it has no zero: a tie, to the even code
    CHECK(parse_bits(from("[1, 2, 3, 4]"), "0", context) == 0);  // beyond its numbers: the nearest
    CHECK(parse_bits(from("[-4, -3, -2, -1]"), "0", context) == 3);
    CHECK(from(R"([0, 1, "inf", "nan"])").has_nan());
}

TEST_CASE("formats go to JSON and back") {
    for (const std::span<const NamedFormat> list : {named_formats(), further_formats()}) {
        for (const NamedFormat& row : list) {
            CHECK(format_json(row.format) == std::string(row.name));
            CHECK(format_from_json(format_json(row.format)) == row.format);
        }
    }
    for (const char* text :
         {R"({"exponent_bits": 3, "fraction_bits": 0, "specials": "none", "even_codes": true})",
          R"({"exponent_bits": 3, "fraction_bits": 1, "sign": false, "specials": "none"})",
          R"({"name": "t", "values": [0, 1, "inf", "nan"], "overflow": 1.5, "middles": [0.25]})",
          R"({"exponent_bits": 6, "fraction_bits": 9, "saturate": "SatPropagate"})",
          R"({"exponent_bits": 4, "fraction_bits": 2, "specials": "none", "largest_for_infinity": true})"}) {
        CHECK(format_from_json(format_json(from(text))) == from(text));
    }
}

TEST_CASE("what makes no format is refused with the field's name") {
    const auto refusal = [](const char* text) -> std::string {
        try {
            from(text);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    CHECK(refusal(R"({"fraction_bits": 3})") == "give \"exponent_bits\" as a whole number from 1 to 16");
    CHECK(refusal(R"({"exponent_bits": 4, "fraction_bits": 3, "exponant": 1})").find("has no \"exponant\"") !=
          std::string::npos);
    CHECK(refusal(R"({"exponent_bits": 4, "fraction_bits": 0})").find("needs at least 2 exponent bits") !=
          std::string::npos);
    CHECK(refusal(R"({"exponent_bits": 4, "fraction_bits": 3, "specials": "nan"})").find("\"specials\" as one of") !=
          std::string::npos);
    CHECK(refusal(R"({"exponent_bits": 4, "fraction_bits": 3, "largest_for_infinity": true})")
              .starts_with("\"largest_for_infinity\" is of formats without infinities"));
    CHECK(refusal(R"({"exponent_bits": 4, "fraction_bits": 3, "sign": false, "specials": "negative_zero_nan"})")
              .find("all_ones_nan") != std::string::npos);
    CHECK(refusal(R"({"exponent_bits": 15, "fraction_bits": 20})").find("lie within fp64") != std::string::npos);
    CHECK(refusal(R"({"exponent_bits": 4, "fraction_bits": 3, "saturate": "SatFinit"})").find("SatFinite") !=
          std::string::npos);
    CHECK(refusal(R"({"exponent_bits": 4, "fraction_bits": 3, "bias": 18446744073709551615})").find("\"bias\"") !=
          std::string::npos);
    CHECK(refusal(R"({"values": [0, 1], "middles": [2]})").find("between its neighbours") != std::string::npos);
    CHECK(refusal(R"({"values": [0, 1], "overflow": "nan"})").find("beyond the largest") != std::string::npos);
    CHECK(refusal("[1, 2, 3]").find("has 3 values") != std::string::npos);
    CHECK(refusal(R"([1, "two"])").find("list of numbers") != std::string::npos);
    CHECK(refusal("7").find("give the name of a format") != std::string::npos);
}

TEST_CASE("a file describes a format, under its own name") {
    set_format_reader(&format_of_file);
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "ulplab_test_formats.json";
    std::ofstream(file) << R"({"exponent_bits": 3, "fraction_bits": 3})";
    const NamedFormat named = named_format(file.string());
    CHECK(named.name == "ulplab_test_formats");
    CHECK(named.format == ieee_format(3, 3));
    std::ofstream(file) << "[0, 0.5, 1, 2]";
    CHECK(name_of(format_by_name(file.string())) == "ulplab_test_formats");
    std::ofstream(file) << "{";
    CHECK_THROWS_AS(format_by_name(file.string()), DataError);
    std::filesystem::remove(file);
    CHECK_THROWS_AS(format_by_name(file.string()), DataError);
}

TEST_CASE("formats that are tables: classes of their numbers, flags of what vanishes") {
    const FloatFormat format = format_by_name("hif8");
    Context context;
    const auto code_of = [&](float x) {
        return convert_bits(format, formats::fp32, std::bit_cast<std::uint32_t>(x), context);
    };
    CHECK(classify_bits(format, code_of(1)) == NumberClass::positive_normal);
    CHECK(classify_bits(format, code_of(-1)) == NumberClass::negative_normal);
    for (const auto& [less, more] :
         {std::pair{-2.0F, -1.0F}, {-1.0F, 0.0F}, {0.0F, 0.5F}, {0.5F, 1.0F}, {1.0F, 64.0F}}) {
        CHECK(compare_bits(format, code_of(less), code_of(more), context) == Order::less);
    }
    CHECK(context.flags == 0);
    CHECK(classify_bits(format, code_of(0x1p-100F)) == NumberClass::positive_zero);
    CHECK(context.flags == (flag::underflow | flag::inexact));
}
