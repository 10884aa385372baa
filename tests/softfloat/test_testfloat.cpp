// The TestFloat vectors, through the filter that `ulplab testfloat` is.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "softfloat/errors.hpp"
#include "softfloat/round.hpp"
#include "softfloat/rounding_names.hpp"
#include "softfloat/testfloat.hpp"
#include "tests/shared_data.hpp"

namespace ulp::test {
namespace {

using testfloat::Operation;

/// f16_add.near_even.txt is the operation f16_add in the mode near_even; f16_eq.txt has no mode.
struct VectorFile {
    const Operation* operation;
    testfloat::Options options;
};
VectorFile parse_name(const std::filesystem::path& file) {
    const std::string stem = file.stem().string();
    const auto dot = stem.find('.');
    VectorFile result{&testfloat::operation_by_name(stem.substr(0, dot)), {}};
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
    testfloat::filter(*vectors.operation, vectors.options, in, answers);
    in.clear();
    in.seekg(0);
    Comparison result;
    std::string expected;
    std::string got;
    while (std::getline(in, expected)) {
        ++result.lines;
        if (std::getline(answers, got) && lines_agree(*vectors.operation, expected, got)) continue;
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
    CHECK_THROWS_AS(rounding_by_name("upward"), std::invalid_argument);
}

}  // namespace ulp::test
