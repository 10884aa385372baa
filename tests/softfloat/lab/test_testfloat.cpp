// The TestFloat vectors, through the filter that `ulplab dev testfloat` is.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "softfloat/errors.hpp"
#include "softfloat/lab/testfloat.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"
#include "tests/shared_data.hpp"

namespace ulp::test {
namespace {

using testfloat::Operation;

/// f16_add.near_even.txt is the operation f16_add in the mode near_even; f16_eq.txt has no mode.
struct VectorFile {
    Operation operation;
    testfloat::Options options;
};
VectorFile parse_name(const std::filesystem::path& file) {
    const std::string stem = file.stem().string();
    const auto dot = stem.find('.');
    VectorFile result{testfloat::operation_by_name(stem.substr(0, dot)), {}};
    if (dot != std::string::npos) result.options.rounding = rounding_by_name(stem.substr(dot + 1));
    return result;
}

bool is_nan_result(const Operation& operation, const std::string& word) {
    if (operation.result_bits == 1 || operation.name.find("_to_i") != std::string_view::npos ||
        operation.name.find("_to_ui") != std::string_view::npos) {
        return false;
    }
    const std::uint64_t bits = std::stoull(word, nullptr, 16);
    if (operation.name == "f32_to_bf16") return is_nan(formats::bf16, bits);
    if (operation.result_bits == 64) return is_nan(formats::fp64, bits);
    return is_nan(operation.result_bits == 32 ? formats::fp32 : formats::fp16, bits);
}

/// Whether two lines agree: all fields equal, or the results both NaN.
bool lines_agree(const Operation& operation, const std::string& expected, const std::string& got) {
    if (expected == got) return true;
    std::istringstream e(expected);
    std::istringstream g(got);
    std::string x;
    std::string y;
    for (int field = 0; e >> x; ++field) {
        if (!(g >> y)) return false;
        const bool result = field == operation.operand_count;
        if (x != y && !(result && is_nan_result(operation, x) && is_nan_result(operation, y))) return false;
    }
    return !(g >> y);
}

struct Comparison {
    int lines = 0;
    int different = 0;
    std::string first;
};
Comparison compare_file(const std::filesystem::path& file) {
    const VectorFile vectors = parse_name(file);
    std::ifstream in(file);
    std::stringstream answers;
    testfloat::filter(vectors.operation, vectors.options, in, answers);
    in.clear();
    in.seekg(0);
    Comparison result;
    std::string expected;
    std::string got;
    while (std::getline(in, expected)) {
        ++result.lines;
        if (std::getline(answers, got) && lines_agree(vectors.operation, expected, got)) continue;
        if (result.different++ == 0) result.first = "expected " + expected + ", got " + got;
    }
    return result;
}

std::string filtered(const std::string& operation, const std::string& text, testfloat::Options options = {}) {
    std::istringstream in(text);
    std::ostringstream out;
    testfloat::filter(testfloat::operation_by_name(operation), options, in, out);
    return out.str();
}

std::string complaint_about(const std::string& operation, const std::string& text) {
    try {
        filtered(operation, text);
    } catch (const DataError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("every TestFloat vector: results (a NaN for a NaN) and flags") {
    const auto folder = shared_folder("testfloat");
    if (!folder) return;
    int files = 0;
    int lines = 0;
    for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
        if (entry.path().extension() != ".txt") continue;
        const Comparison found = compare_file(entry.path());
        INFO(entry.path().filename().string() << ": " << found.first);
        CHECK(found.different == 0);
        CHECK(found.lines > 0);
        ++files;
        lines += found.lines;
    }
    MESSAGE(lines << " cases in " << files << " files");
    CHECK(files > 0);
}

TEST_CASE("every format by its name") {
    CHECK(filtered("e4m3_add", "38 38\n7E 7E\nB8 38\n") == "38 38 40 00\n7E 7E 7F 05\nB8 38 00 00\n");
    CHECK(filtered("bf16_mul", "3FC0 3FC0\n") == "3FC0 3FC0 4010 00\n");
    CHECK(filtered("tf32_mulAdd", "3F800000 40000000 3F800000\n") == "3F800000 40000000 3F800000 40400000 00\n");
    CHECK(filtered("f64_mulAdd", "3FB999999999999A 4024000000000000 BFF0000000000000\n") ==
          "3FB999999999999A 4024000000000000 BFF0000000000000 3C90000000000000 00\n");
    CHECK(filtered("f32_sqrt", "40000000\n") == "40000000 3FB504F3 01\n");
    CHECK(filtered("float8_e5m2_to_f64", "7C\n") == "7C 7FF0000000000000 00\n");
    CHECK(filtered("f32_to_e4m3", "C47A0000\n") == "C47A0000 FF 05\n");
    CHECK(filtered("e4m3_to_i32", "C4\n") == "C4 FFFFFFFD 00\n");
    CHECK(filtered("e2m1_lt", "1 7\n") == "1 7 1 00\n");
    CHECK(filtered("f64_to_f128", "3FF0000000000000\n") == "3FF0000000000000 3FFF0000000000000000000000000000 00\n");
    CHECK(complaint_about("e3m2_add", "3F FF\n").find("more than 6 bits") != std::string::npos);
    // P3109's, and tables of values: 1.5 * 1.5 overflows in neither; in E8M0's ties the larger and the even code.
    CHECK(filtered("binary8p3se_mul", "42 42\n7E 7E\n7F 00\n") == "42 42 44 01\n7E 7E 7F 05\n7F 00 80 10\n");
    CHECK(filtered("binary8p3ue_sub", "01 02\n") == "01 02 FF 10\n");
    CHECK(filtered("hif8_add", "08 08\n6E 6E\n") == "08 08 10 00\n6E 6E 6F 05\n");
    CHECK(filtered("posit8_div", "40 7F\n") == "40 7F 01 00\n");
    CHECK(filtered("int8_mulAdd", "03 04 FF\n") == "03 04 FF 0B 00\n");
    CHECK(filtered("f32_to_e8m0", "3FC00000\n") == "3FC00000 80 01\n");
    CHECK(filtered("f32_to_e8m0_even", "3FC00000\n40400000\n") == "3FC00000 80 01\n40400000 80 01\n");
    CHECK(filtered("binary16p1ue_mul", "FFFD 0001\n") == "FFFD 0001 7FFE 00\n");
    CHECK_THROWS_WITH(testfloat::operation_by_name("binary16p1ue_to_extF80"),
                      doctest::Contains("reaches beyond extF80"));
    int operations = 0;
    for (const NamedFormat& format : named_formats()) {
        for (const char* name : {"add", "sub", "mul", "mulAdd", "div", "rem", "sqrt", "roundToInt", "eq", "le", "lt",
                                 "eq_signaling", "le_quiet", "lt_quiet"}) {
            const auto operation = testfloat::operation_by_name(std::string(format.name) + "_" + name);
            CHECK(operation.format == format.format);
            ++operations;
        }
        for (const NamedFormat& to : named_formats()) {
            testfloat::operation_by_name(std::string(format.name) + "_to_" + std::string(to.name));
            ++operations;
        }
    }
    MESSAGE(operations << " operations on formats by name");
}

TEST_CASE("the filter writes operands, result and flags, and ignores further fields") {
    CHECK(filtered("f16_add", "3C00 4000\n") == "3C00 4000 4200 00\n");
    CHECK(filtered("f16_add", "3c00\t4000 FFFF 1F anything\r\n") == "3C00 4000 4200 00\n");
    CHECK(filtered("f16_div", "3C00 0000\n3C00 4200\n") == "3C00 0000 7C00 08\n3C00 4200 3555 01\n");
    CHECK(filtered("f16_mulAdd", "4200 4500 3C00\n") == "4200 4500 3C00 4C00 00\n");
    CHECK(filtered("f16_eq", "0000 8000\n") == "0000 8000 1 00\n");
    CHECK(filtered("f16_lt_quiet", "7E00 8000\n") == "7E00 8000 0 00\n");
    CHECK(filtered("f16_eq_signaling", "7E00 8000\n") == "7E00 8000 0 10\n");
    CHECK(filtered("f16_to_i32", "3E00\n") == "3E00 00000002 01\n");
    CHECK(filtered("f16_to_i32", "3E00\n", {.exact = false}) == "3E00 00000002 00\n");
    CHECK(filtered("f16_add", "") == "");
}

TEST_CASE("the 80- and 128-bit formats: known words, and every half and back") {
    CHECK(filtered("f16_to_extF80", "3C00\n") == "3C00 3FFF8000000000000000 00\n");
    CHECK(filtered("f16_to_extF80", "8001\n") == "8001 BFE78000000000000000 00\n");
    CHECK(filtered("f16_to_extF80", "7D00\n") == "7D00 7FFFC000000000000000 10\n");
    CHECK(filtered("f16_to_f128", "C200\n") == "C200 C0008000000000000000000000000000 00\n");
    CHECK(filtered("extF80_to_f16", "3FFF8010000000000000\n") == "3FFF8010000000000000 3C00 01\n");
    CHECK(filtered("extF80_to_f16", "3FFF8010000000000001\n") == "3FFF8010000000000001 3C01 01\n");
    CHECK(filtered("extF80_to_f16", "FFFF8000000000000000\n") == "FFFF8000000000000000 FC00 00\n");
    CHECK(filtered("f128_to_f16", "400E0000000000000000000000000000\n") ==
          "400E0000000000000000000000000000 7800 00\n");
    CHECK(filtered("f128_to_f16", "400EFFE0000000000000000000000000\n") ==
          "400EFFE0000000000000000000000000 7C00 05\n");
    CHECK(filtered("f128_to_f16", "7FFF0000000000000000000000000001\n") ==
          "7FFF0000000000000000000000000001 7E00 10\n");
    CHECK(complaint_about("f128_to_f16", "3FFF\n").find("32 hexadecimal digits") != std::string::npos);
    for (const auto& [to, from] : {std::pair{"f16_to_extF80", "extF80_to_f16"}, {"f16_to_f128", "f128_to_f16"}}) {
        const testfloat::Operation there = testfloat::operation_by_name(to);
        const testfloat::Operation back = testfloat::operation_by_name(from);
        int wrong = 0;
        for (std::uint64_t code = 0; code < 0x10000; ++code) {
            Context context;
            const UInt128 wide = there({code}, context);
            const UInt128 again = back({wide}, context);
            wrong += context.flags == (is_signaling(formats::fp16, code) ? flag::invalid : 0) &&
                             again == (is_nan(formats::fp16, code) ? 0x7E00 : code)
                         ? 0
                         : 1;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("words of 80 and 128 bits round as the same fp64 number does, in every mode") {
    const testfloat::Operation of_f64 = testfloat::operation_by_name("f64_to_f16");
    const testfloat::Operation of_f80 = testfloat::operation_by_name("extF80_to_f16");
    const testfloat::Operation of_f128 = testfloat::operation_by_name("f128_to_f16");
    std::uint64_t state = 1;
    int wrong = 0;
    for (int i = 0; i < 60'000; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        // Exponents from 2^-30 to 2^20; every other number a tie or just beside one.
        const std::uint64_t exponent = 1023 - 30 + (state >> 33) % 50;
        std::uint64_t fraction = state & ((std::uint64_t{1} << 52) - 1);
        if (i % 2 == 0) fraction = (fraction >> 41 << 41) + static_cast<std::uint64_t>(i / 2 % 3) - 1;
        fraction &= (std::uint64_t{1} << 52) - 1;
        const UInt128 sign = state >> 63;
        const UInt128 field = exponent + 16383 - 1023;
        const UInt128 f64 = sign << 63 | static_cast<UInt128>(exponent) << 52 | fraction;
        const UInt128 f80 = sign << 79 | field << 64 | std::uint64_t{1} << 63 | fraction << 11;
        const UInt128 f128 = sign << 127 | field << 112 | static_cast<UInt128>(fraction) << 60;
        for (int mode = 0; mode < 6; ++mode) {
            Context a{.rounding = static_cast<Rounding>(mode)};
            Context b = a, c = a;
            const UInt128 expected = of_f64({f64}, a);
            wrong += of_f80({f80}, b) == expected && of_f128({f128}, c) == expected && b.flags == a.flags &&
                             c.flags == a.flags
                         ? 0
                         : 1;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("tininess before rounding raises underflow where tininess after does not") {
    // (1 - 2^-11) * 2^-14 rounds up to 2^-14.
    CHECK(filtered("f16_mul", "0401 3BFE\n") == "0401 3BFE 0400 01\n");
    CHECK(filtered("f16_mul", "0401 3BFE\n", {.tininess = Tininess::before_rounding}) == "0401 3BFE 0400 03\n");
}

TEST_CASE("a malformed line is named by its number, after the lines before it are written") {
    CHECK(complaint_about("f16_add", "3C00 4000\n3C00\n").starts_with("line 2 has only 1 fields; f16_add reads 2"));
    CHECK(complaint_about("f16_add", "3C00 40G0\n").starts_with("line 1 has '40G0' as operand 2"));
    CHECK(complaint_about("f16_add", "3C00 04000\n").starts_with("line 1 has '04000' as operand 2"));
    CHECK(complaint_about("f16_sqrt", "3C00\n\n").starts_with("line 2 has only 0 fields"));
    CHECK_THROWS_AS(testfloat::operation_by_name("f16_pow"), std::invalid_argument);
}

TEST_CASE("rounding modes by their names and by TestFloat's") {
    CHECK(rounding_by_name("minMag") == Rounding::toward_zero);
    CHECK(rounding_by_name("rnear_maxMag") == Rounding::nearest_away);
    CHECK(rounding_by_name("rodd") == Rounding::odd);
    CHECK(name_of(rounding_by_name("up")) == "up");
    CHECK_THROWS_AS(rounding_by_name("sideways"), std::invalid_argument);
}

}  // namespace ulp::test
