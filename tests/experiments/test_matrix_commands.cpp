// The subcommands on matrix units: what they print and how they end.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/analysis/dot_candidates.hpp"
#include "engine/analysis/dot_explanation.hpp"
#include "engine/files/npy.hpp"
#include "experiments/cli/product_options.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace fs = std::filesystem;

namespace {

/// A file that is removed at the end.
class File {
  public:
    explicit File(const char* name) : path_(fs::temp_directory_path() / (std::to_string(getpid()) + name)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { fs::remove(path_); }
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

ulp::DotOperands example() { return {{0x3E00, 0x8C00, 0x3C00}, {0x3E00, 0x0800, 0x2E66}, 0x3F800000}; }

const ulp::DotCandidate& named(const std::vector<ulp::DotCandidate>& candidates, const std::string& name) {
    const auto at = std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) { return c.name == name; });
    REQUIRE(at != candidates.end());
    return *at;
}

}  // namespace

TEST_CASE("an explanation shows the terms, the largest exponent, the cut, the sum and the rounding") {
    const ulp::TensorCoreModel& hopper = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    const std::string text = ulp::explain_dot(hopper, example());
    CAPTURE(text);
    CHECK(text.find("1.5 * 1.5                    +10.01000000000000000000 * 2^0") != std::string::npos);
    CHECK(text.find("largest exponent M = 0; each term in units of 2^(M-F) = 2^-25") != std::string::npos);
    CHECK(text.find("k1    -00.0000000000000000000000001|") != std::string::npos);
    CHECK(text.find("rounded toward zero to 23 fraction bits: 405665FF") != std::string::npos);
    // Ampere keeps one bit less, so the small product is cut away whole.
    const std::string ampere =
        ulp::explain_dot(ulp::unit_model<ulp::TensorCoreModel>("sm_80:mma.fp16.fp32"), example());
    CAPTURE(ampere);
    CHECK(ampere.find("k1    -00.000000000000000000000000|1  cut") != std::string::npos);
    CHECK(ampere.find("result 40566600") != std::string::npos);
}

TEST_CASE("an explanation of emulated FP8 shows both fp16 instructions and the last addition") {
    const std::string text = ulp::explain_dot(ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.e4m3.fp32"),
                                              {{0x38, 0x38, 0x38}, {0x38, 0x38, 0x38}, 0x3F800000});
    CHECK(text.find("fp16 instruction 1: k mod 4 in {0, 1}") != std::string::npos);
    CHECK(text.find("fp16 instruction 2: k mod 4 in {2, 3}") != std::string::npos);
    CHECK(text.find("then c is added, to nearest even: 3 + 1 = 40800000 (4)") != std::string::npos);
}

TEST_CASE("candidates name the unit that gave a result, and measure errors in ulps") {
    const std::string key = "sm_90:mma.fp16.fp32";
    const auto operands = example();
    const auto candidates = ulp::dot_candidates(key, ulp::unit_model<ulp::TensorCoreModel>(key), operands);
    CHECK(candidates.front().name == key);
    CHECK(candidates.front().result == 0x405665FF);
    CHECK(named(candidates, "sm_80:mma.fp16.fp32").result == 0x40566600);
    CHECK(named(candidates, "sm_90:wgmma.fp16.fp32").result == candidates.front().result);
    // The exact sum is 2^-25 below 2.25 + 1 + 0.0999755859375: 1/8 ulp below Ampere's answer, 7/8 above Hopper's.
    CHECK(named(candidates, "sm_80:mma.fp16.fp32").error_in_ulps == doctest::Approx(0.125).epsilon(1e-12));
    CHECK(candidates.front().error_in_ulps == doctest::Approx(-0.875).epsilon(1e-12));
    CHECK(ulp::exact_dot_text(ulp::unit_model<ulp::TensorCoreModel>(key), operands) == "3.3499755561351776");
}

TEST_CASE("matrices are read in both orders, from numbers and from codes, and off-grid elements are named") {
    const File file("_matrix.npy");
    const std::vector<std::uint16_t> halves{0x3C00, 0x4000, 0x4200, 0x4400};
    auto array = ulp::npy::matrix("<f2", 2, 2, halves);
    ulp::npy::write(file.path(), array);
    CHECK(ulp::load_matrix(file.path(), ulp::formats::fp16, std::nullopt).values == std::vector<float>{1, 2, 3, 4});
    array.fortran_order = true;
    ulp::npy::write(file.path(), array);
    CHECK(ulp::load_matrix(file.path(), ulp::formats::fp16, std::nullopt).values == std::vector<float>{1, 3, 2, 4});
    array.dtype = "<u2";
    ulp::npy::write(file.path(), array);
    CHECK(ulp::load_matrix(file.path(), ulp::formats::fp16, std::nullopt).values == std::vector<float>{1, 3, 2, 4});
    CHECK_THROWS_WITH_AS(ulp::load_matrix(file.path(), ulp::formats::e4m3, std::nullopt),
                         doctest::Contains("holds no e4m3; save float16, float32 or the codes as uint8"),
                         ulp::DataError);

    // Two codes of E2M1 in a byte are no code of it, nor is a byte above 63 one of a format of 6 bits.
    ulp::npy::write(file.path(), ulp::npy::matrix("|u1", 1, 2, std::vector<std::uint8_t>{0x05, 0x73}));
    CHECK_THROWS_WITH_AS(
        ulp::load_matrix(file.path(), ulp::formats::e2m1, std::nullopt),
        doctest::Contains("element (0, 1) = 0x73 is not a code of e2m1, whose codes are 0x0 to 0xF; two "
                          "codes packed into a byte must be unpacked to a byte each"),
        ulp::DataError);
    CHECK_THROWS_WITH_AS(ulp::load_matrix(file.path(), ulp::formats::e3m2, std::nullopt),
                         doctest::Contains("element (0, 1) = 0x73 is not a code of e3m2, whose codes are 0x0 to 0x3F"),
                         ulp::DataError);
    CHECK(ulp::load_matrix(file.path(), ulp::formats::e4m3, std::nullopt).values[1] == 176.0F);

    ulp::npy::write(file.path(), ulp::npy::matrix("<f4", 1, 2, std::vector<float>{1.0F, 0.1F}));
    CHECK_THROWS_WITH_AS(
        ulp::load_matrix(file.path(), ulp::formats::fp16, std::nullopt),
        doctest::Contains("element (0, 1) = 0.10000000149011612 is not a value of fp16; use --rounding nearest_even"),
        ulp::DataError);
    CHECK(
        ulp::load_matrix(file.path(), ulp::formats::fp16, ulp::OperandRounding{ulp::Rounding::toward_zero}).values[1] ==
        0x1.998p-4F);
    CHECK_THROWS_WITH_AS(ulp::load_integer_matrix(file.path(), -128, 127), doctest::Contains("is no integer"),
                         ulp::DataError);
    ulp::npy::write(file.path(), ulp::npy::matrix("<i2", 1, 2, std::vector<std::int16_t>{-128, 128}));
    CHECK_THROWS_WITH_AS(ulp::load_integer_matrix(file.path(), -128, 127),
                         doctest::Contains("element (0, 1) = 128 is outside [-128, 127]"), ulp::DataError);
}
