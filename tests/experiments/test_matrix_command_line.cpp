// The subcommands on matrix units as a user meets them: exit codes and sentences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "engine/files/npy.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "tests/experiments/temporary_folder.hpp"
#include "tests/experiments/ulplab_program.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

using test::ulplab;

void check_ends(const std::vector<std::string>& arguments, int exit_code, const std::string& text) {
    const Finished finished = ulplab(arguments);
    INFO(finished.output);
    CHECK(finished.exit_code == exit_code);
    CHECK(finished.output.find(text) != std::string::npos);
}

/// A made-up set of one row, 1 * 1 + 2 * 2 + c; `d` is its result's bits.
void write_set(const fs::path& folder, const std::string& gpu, const std::string& d) {
    const fs::path set = folder / gpu / "fp16";
    fs::create_directories(set);
    write_file(set / ("a_" + gpu + "_fp16.txt"), "3f800000 40000000\n");
    write_file(set / ("b_" + gpu + "_fp16.txt"), "3f800000 40000000\n");
    write_file(set / ("c_" + gpu + "_fp32.txt"), std::string(32, '0') + "\n");
    write_file(set / ("d_" + gpu + "_fp32.txt"), d + "\n");
}

}  // namespace

TEST_CASE("verify replays recordings of both kinds in one folder") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path().string();
    check_ends({"gpu", "record", "--device", "software:sm_90", "--instruction", "mma.m16n8k8.fp16.fp32", "--count",
                "1", "--out", path},
               0, "");
    write_set(folder.path(), "H100", "01000000101000000000000000000000");
    check_ends({"verify", path}, 0, "mma.m16n8k8.fp16.fp32 probes");
    check_ends({"verify", path}, 0, "H100 fp16 fp16->fp32 1/1\n");
    write_set(folder.path(), "H100", "01000000101000000000000000000001");
    check_ends({"verify", path}, 4, "mma.m16n8k8.fp16.fp32 probes");
    check_ends({"verify", path}, 4, "H100 fp16 fp16->fp32 0/1\n");
    check_ends({"verify", "--device", "software:sm_90", path}, 4, "as recorded 0/1");
}

TEST_CASE("verify prints a line a set, and ends with 4 and the first difference in full") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path().string();
    check_ends({"verify", path}, 3, "holds no recordings");
    check_ends({"verify", path + "/missing"}, 3, "no such folder");
    write_set(folder.path(), "H100", "01000000101000000000000000000000");
    check_ends({"verify", path}, 0, "H100 fp16 fp16->fp32 1/1\n");
    check_ends({"verify", path, "--policy", "leading_bit"}, 0, "1/1");
    check_ends({"verify", path, "--policy", "A"}, 2, "policy A is now: leading_bit");
    check_ends({"verify", path, "--policy", "Q"}, 2, "no policy set 'Q'; choose one of leading_bit, zeros_count");
    write_set(folder.path(), "K80", "01000000101000000000000000000000");
    check_ends({"verify", path}, 3, "K80 fp16 fp16->fp32 has no model\n");
    check_ends({"verify", path}, 3, "1 of the recordings could not be compared");
    write_set(folder.path(), "H100", "01000000101000000000000000000001");
    check_ends({"verify", path}, 4, "recorded 40A00001 (5.0000005)");
    check_ends({"verify", path}, 4, "model    40A00000 (5)");
    check_ends({"verify", path}, 4, "k 1   a 4000 (2)  b 4000 (2)");
    write_set(folder.path(), "H100", "0100000010100000000000000000000");
    check_ends({"verify", path}, 3, "d_H100_fp32.txt:1: the row has 31 characters");
}

TEST_CASE("matmul writes the product, or nothing and a sentence") {
    const test::TemporaryFolder folder;
    const auto file = [&](const char* name) { return (folder.path() / name).string(); };
    npy::write(file("a.npy"), npy::matrix("<f4", 1, 2, std::vector<float>{1, 2}));
    npy::write(file("b.npy"), npy::matrix("<f4", 2, 1, std::vector<float>{3, 4}));
    const std::vector<std::string> product = {
        "matmul", "--unit", "sm_90:wgmma.fp16.fp32", file("a.npy"), file("b.npy"), "--out", file("d.npy")};
    check_ends(product, 0, "1 x 1 x 2 products");
    const npy::Array d = npy::read(file("d.npy"));
    CHECK(d.dtype == "<f4");
    float value = 0;
    std::memcpy(&value, d.data.data(), 4);
    CHECK(value == 11.0F);
    auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), product.begin(), product.end());
        return more;
    };
    check_ends(with({"--order", "promote=100"}), 2, "choose a multiple of 16");
    check_ends(with({"--transpose", "b"}), 3, "the inner sizes differ");
    check_ends({"matmul", "--unit", "sm_91:x", file("a.npy"), file("b.npy"), "--out", file("e.npy")}, 2,
               "there is no model 'sm_91:x'; nearest are sm_");
    check_ends({"matmul", "--unit", "sm_90:mma.fp16.fp32", file("a.npy"), file("c.npy"), "--out", file("e.npy")}, 3,
               "c.npy: cannot be opened");
    CHECK_FALSE(fs::exists(file("e.npy")));
    check_ends({"matmul", "--unit", "sm_90:mma.fp16.fp32", file("a.npy"), file("c.npy"), "--out", file("no/e.npy")}, 3,
               "no/e.npy");  // before c.npy is read
}

namespace {

/// Files for `matmul` in a temporary folder, and its result's words.
class Products {
  public:
    template <class Word>
    void save(const char* name, const char* dtype, std::int64_t rows, std::int64_t cols,
              const std::vector<Word>& words) const {
        npy::write(folder_.path() / name, npy::matrix(dtype, rows, cols, words));
    }
    [[nodiscard]] std::vector<std::string> arguments(const std::string& key,
                                                     const std::vector<std::string>& more) const {
        const auto file = [&](const char* name) { return (folder_.path() / name).string(); };
        std::vector<std::string> all{"matmul", "--unit", key, file("a"), file("b"), "--out", file("d")};
        for (const std::string& each : more) all.push_back(each == "c" ? file("c") : each);
        return all;
    }
    template <class Word>
    [[nodiscard]] std::vector<Word> result(const std::string& key, const std::vector<std::string>& more = {}) const {
        check_ends(arguments(key, more), 0, "products");
        const npy::Array d = npy::read(folder_.path() / "d");
        std::vector<Word> words(d.data.size() / sizeof(Word));
        std::memcpy(words.data(), d.data.data(), d.data.size());
        return words;
    }

  private:
    test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("matmul gives every code of C back, NaNs included, where there is nothing to add") {
    const Products files;
    files.save("a", "<f4", 256, 0, std::vector<float>{});
    files.save("b", "<f4", 0, 256, std::vector<float>{});
    std::vector<std::uint16_t> narrow(65536);
    std::iota(narrow.begin(), narrow.end(), std::uint16_t{0});
    for (const char* dtype : {"<f2", "<u2"}) {
        files.save("c", dtype, 256, 256, narrow);
        CHECK(files.result<std::uint16_t>("sm_90:mma.fp16.fp16", {"c"}) == narrow);
    }
    std::vector<std::uint32_t> wide(65536);
    for (std::uint32_t i = 0; i < 65536; ++i) wide[i] = i << 16 | (i * 40503U & 0xFFFFU);
    for (const char* dtype : {"<f4", "<u4"}) {
        files.save("c", dtype, 256, 256, wide);
        CHECK(files.result<std::uint32_t>("sm_90:mma.fp16.fp32", {"c"}) == wide);
    }
    std::vector<std::uint64_t> widest(65536);
    for (std::uint64_t i = 0; i < 65536; ++i) widest[i] = i << 48 | (i * 0x9E3779B97F4A7C15U >> 16);
    for (const char* dtype : {"<f8", "<u8"}) {
        files.save("c", dtype, 256, 256, widest);
        CHECK(files.result<std::uint64_t>("sm_90:mma.fp64.fp64", {"c"}) == widest);
    }
}

TEST_CASE("matmul's NaNs are the unit's, from the operands' codes") {
    const Products files;
    using Words = std::vector<std::uint16_t>;
    files.save("a", "<u2", 1, 1, Words{0x7C00});
    files.save("b", "<u2", 1, 1, Words{0x0000});
    CHECK(files.result<std::uint16_t>("sm_90:mma.fp16.fp16") == Words{0x7FFF});
    files.save("a", "<u2", 1, 2, Words{0xFFC1, 0});
    files.save("b", "<u2", 2, 1, Words{0x3F80, 0});
    CHECK(files.result<std::uint32_t>("x86:vdpbf16ps.bf16.fp32") == std::vector<std::uint32_t>{0xFFC10000});
}

TEST_CASE("matmul says what overflowed, and saturates where it is told to") {
    const Products files;
    files.save("a", "<f4", 1, 16, std::vector<float>(16, 1e6F));
    files.save("b", "<f4", 16, 1, std::vector<float>(16, 1.0F));
    const std::string key = "sm_90:mma.fp16.fp32";
    check_ends(files.arguments(key, {"--rounding", "nearest_even"}), 0,
               "16 of 32 operands overflow fp16 and became infinite, 1 of 1 results are infinite or NaN");
    CHECK(files.result<float>(key, {"--rounding", "nearest_even", "--saturate"}) == std::vector<float>{16 * 65504.0F});
    CHECK(ulplab(files.arguments(key, {"--rounding", "nearest_even", "--saturate"})).output.find("infinite") ==
          std::string::npos);
    check_ends(files.arguments(key, {"--saturate"}), 2, "give --rounding nearest_even, too");
    check_ends(files.arguments(key, {"--rounding", "up"}), 2, "there is no rounding 'up' for operands");
    for (const char* exact : {"sm_80:mma.fp64.fp64", "sm_80:mma.s8.s32"}) {
        check_ends(files.arguments(exact, {"--saturate"}), 2, "takes its operands as they are");
        check_ends(files.arguments(exact, {"--rounding", "nearest_even"}), 2, "takes its operands as they are");
        check_ends(files.arguments(exact, {"--rounding", "toward_zero"}), 2, "takes its operands as they are");
    }
    files.save("a", "<f4", 1, 16, std::vector<float>(16, 500.0F));
    check_ends(files.arguments("sm_90:mma.e4m3.fp32", {"--rounding", "nearest_even"}), 0,
               "16 of 32 operands overflow e4m3 and became NaN");
    CHECK(files.result<float>("sm_90:mma.e4m3.fp32", {"--rounding", "nearest_even", "--saturate"}) ==
          std::vector<float>{16 * 448.0F});
    files.save("a", "<f4", 1, 16, std::vector<float>(16, 65504.0F));
    check_ends(files.arguments("sm_90:mma.fp16.fp16", {}), 0,
               "1 of 1 results are infinite or NaN, though all operands are finite");
}

TEST_CASE("matmul's epilogue reads C only where beta is not 0, and refuses what has no meaning") {
    const Products files;
    files.save("a", "<f4", 1, 64, std::vector<float>(64, 1.0F));
    files.save("b", "<f4", 64, 1, std::vector<float>(64, 1.0F));
    files.save("c", "<u4", 1, 1, std::vector<std::uint32_t>{0x7FC00000});
    const std::string key = "sm_90:mma.fp16.fp32";
    CHECK(files.result<float>(key, {"c", "--beta", "0"}) == std::vector<float>{64});
    CHECK(files.result<std::uint32_t>(key, {"c", "--alpha", "1"}) == std::vector<std::uint32_t>{0x7FFFFFFF});
    CHECK(files.result<float>(key, {"--alpha", "-1"}) == std::vector<float>{-64});
    check_ends(files.arguments(key, {"--alpha", "nan"}), 2, "--alpha is nan; give a finite number");
    check_ends(files.arguments(key, {"--beta", "inf"}), 2, "--beta is inf; give a finite number");
    check_ends(files.arguments(key, {"--beta", "1"}), 2, "--beta scales C; give C");
    check_ends(files.arguments(key, {"--order", "split=1000"}), 2, "k = 64 has 4 instructions of 16, so choose 1 to 4");
    check_ends(files.arguments(key, {"--order", "split=0"}), 2, "choose 1 to 4 pieces");
    check_ends(files.arguments(key, {"--order", "promote=-16"}), 2, "choose a multiple of 16");
    CHECK(files.result<float>(key, {"--order", "split=4"}) == std::vector<float>{64});
}

TEST_CASE("matmul multiplies integers and block-scaled codes, and refuses scales that do not fit") {
    const test::TemporaryFolder folder;
    const auto file = [&](const std::string& name) { return (folder.path() / name).string(); };
    using Bytes = std::vector<std::uint8_t>;
    const Bytes ones(64, 0x02);  // 1 in FP4, 2 as an integer
    npy::write(file("a.npy"), npy::matrix("|u1", 1, 64, ones));
    npy::write(file("b.npy"), npy::matrix("|u1", 64, 1, ones));
    npy::write(file("x.npy"), npy::matrix("|u1", 1, 4, Bytes{0x38, 0x40, 0x38, 0x38}));  // 1, 2, 1, 1 in E4M3
    const auto product = [&](const std::string& key, std::vector<std::string> more) {
        std::vector<std::string> arguments{"matmul",      "--unit", key,          file("a.npy"),
                                           file("b.npy"), "--out",  file("d.npy")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    const auto result = [&](auto value) {
        const npy::Array d = npy::read(file("d.npy"));
        std::memcpy(&value, d.data.data(), 4);
        return value;
    };
    check_ends(product("sm_120:mma.nvf4.e2m1.fp32", {}), 0, "1 x 1 x 64 products, scales of 16 elements");
    CHECK(result(0.0F) == 64.0F);
    check_ends(product("sm_120:mma.nvf4.e2m1.fp32", {"--a-scales", file("x.npy")}), 0, "published");
    CHECK(result(0.0F) == 80.0F);
    npy::write(file("y.npy"), npy::matrix("<f4", 1, 4, std::vector<float>{3.1F, 1, 1, 1}));
    npy::write(file("z.npy"), npy::matrix("<f4", 1, 2, std::vector<float>{3, 1}));
    check_ends(product("sm_120:mma.nvf4.e2m1.fp32", {"--a-scales", file("y.npy"), "--rounding", "nearest_even"}), 3,
               "is not a value of e4m3; scales are not rounded; give values of the format");
    check_ends(product("sm_120:mma.mxf4.e2m1.fp32", {"--a-scales", file("z.npy"), "--rounding", "nearest_even"}), 3,
               "is not a value of e8m0; scales are not rounded; give powers of two");
    check_ends(product("sm_80:mma.u8.s32", {}), 0, "products");
    CHECK(result(0) == 256);
    check_ends(product("sm_120:mma.nvf4.e2m1.fp32", {"--b-scales", file("x.npy")}), 3,
               "the scales are 1 x 4, the blocks 4 x 1");
    check_ends(product("sm_80:mma.u8.s32", {"--a-scales", file("x.npy")}), 2, "has no scales");
    check_ends(product("sm_120:mma.nvf5.e2m1.fp32", {}), 2, "nearest are sm_120:mma.nvf4.e2m1.fp32");
    check_ends({"discover", "--unit", "sm_90:mma.fp61.fp32"}, 2, "nearest are sm_90:mma.fp16.fp32");
    check_ends({"discover", "--unit", "sm_80:mma.s4.s32"}, 0, "operands              s4 x s4");
    check_ends({"discover", "--unit", "sm_120:mma.e2m1.fp16"}, 0, "cannot be asked in these formats");
    check_ends({"discover", "--unit", "sm_120:mma.nvf4.e2m1.fp32"}, 0, "elements of a scale   16");
    check_ends({"discover", "--unit", "sm_120:mma.nvf4.e2m1.fp32"}, 0, "products added exactly 16");
    check_ends({"models", "--unit", "V100"}, 0, "sm_70:mma.fp16.fp16");
    check_ends({"models", "--json"}, 0, "\"evidence\": \"verified live\"");
}

TEST_CASE("explain names what explains a result, discover finds a unit's parameters and lists predictions") {
    const std::vector<std::string> explain = {
        "explain", "--unit",   "sm_90:mma.fp16.fp32", "--a", "1.5,#8C00,1", "--b", "1.5,#0800,#2E66", "--c", "1",
        "--d",     "#40566600"};
    check_ends(explain, 0, "explained by\n  sm_7");
    check_ends({"explain", "--unit", "sm_90:mma.fp16.fp32", "--a", "0.1", "--b", "1"}, 2,
               "a[0]: 0.1 is not a value of fp16; use --rounding nearest_even");
    check_ends({"explain", "--unit", "sm_90:mma.fp16.fp32", "--a", "1,2", "--b", "1"}, 2, "as many values");
    check_ends({"discover", "--unit", "soft:a100"}, 0, "summation tree        ((c 0-7) 8-15)");
    check_ends({"discover", "--unit", "soft:a100"}, 0, "F = 24 fraction bits");
    check_ends({"discover", "--unit", "soft:v101"}, 2, "soft:v101");
    check_ends({"discover", "--table"}, 0, "sm_90:mma.bf16.fp32        30800000 00000000 30800000 30800000 00000000");
    check_ends({"discover", "--table", "--unit", "K80"}, 2, "there is no GPU model 'K80'");
    check_ends({"discover"}, 2, "name the unit to ask with --unit");
    check_ends({"discover", "--table", "--unit", "soft:a100"}, 0, "P2   40100000  as normalised first");
    const test::TemporaryFolder folder;
    const std::string probes = (folder / "probes.txt").string();
    check_ends({"discover", "--table", "--unit", "software:sm_90", "--out", probes}, 0, "as the row");
    CHECK(read_file(probes).starts_with("# source software\n"));
    check_ends({"discover", "--table", "--out", probes}, 2, "--out keeps a card's answers");
}

TEST_CASE("explain shows every kind of unit that models lists") {
    const auto explained = [](const std::string& model, const std::string& a, const std::string& b,
                              const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"explain", "--unit", model, "--a", a, "--b", b};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    check_ends(explained("sm_80:mma.s8.s32", "100,-3", "100,7", {"--c", "5"}), 0,
               "sum of the products 9979, plus c = 5: 9984");
    check_ends(explained("sm_80:mma.s8.s32.satfinite", "1", "1", {"--c", "2147483647"}), 0,
               "beyond s32: clamped to 2147483647");
    check_ends(explained("sm_80:mma.s8.s32", "1", "1", {"--c", "2147483647"}), 0, "beyond s32: wraps to -2147483648");
    check_ends(explained("sm_80:mma.b1_xor.s32", "1,1", "0,1"), 0, "result 1\n");
    check_ends(explained("sm_120:mma.nvf4.e2m1.fp32", "6,-4", "0.5,1", {"--a-scales", "2", "--b-scales", "0.25"}), 0,
               "(-0.5)");
    check_ends(explained("sm_100:tcgen05.mxf8f6f4.e4m3.fp32", "2", "3"), 0, "result 40C00000 (6)");
    check_ends(explained("sm_90:mma.fp16.fp32", "1", "1", {"--a-scales", "1"}), 2, "has no scales");
    check_ends(explained("gfx908:mfma_pairwise.fp16.fp32", "1,2", "3,4"), 0, "added in pairs");
    check_ends(explained("gfx942:mfma.fp16.fp32", "1,2", "3,4"), 0, "c aligned to their sum");
    check_ends(explained("sm_90:mma.fp64.fp64", "1,0x1p-53,0.1", "1,1,0", {"--rounding", "nearest_even"}), 0,
               "result 3FF0000000000000 (1)");
    check_ends(explained("sm_90:mma.fp64.fp64", "#7FF4000000000001", "1"), 0, "result 7FFC000000000001");
    check_ends(explained("x86:vdpbf16ps.bf16.fp32", "1,2", "3,4"), 0, "k1   fma(2, 4, 0) = 41000000 (8)");
    check_ends(explained("sm_80:mma.s8.s32", "128", "1"), 2, "a[0]: '128' is not a whole number from -128 to 127");
    check_ends(explained("sm_80:mma.s8.s32", "1", "1", {"--rounding", "nearest_even"}), 2, "without --rounding");
    check_ends(explained("sm_80:mma.s8.s32", "3", "4", {"--d", "12"}), 0, "explained by\n  sm_80:mma.s8.s32");
}

TEST_CASE("each product names its evidence, and a policy set that it is not of") {
    const test::TemporaryFolder folder;
    const auto file = [&](const std::string& name) { return (folder.path() / name).string(); };
    npy::write(file("one.npy"), npy::matrix("|i1", 1, 1, std::vector<std::int8_t>{1}));
    npy::write(file("half.npy"), npy::matrix("<f4", 1, 1, std::vector<float>{1}));
    const auto product = [&](const std::string& key, const char* operands, std::vector<std::string> more) {
        std::vector<std::string> arguments{"matmul", "--unit", key, file(operands), file(operands), "--out", file("d")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    const std::string not_of_b =
        "policy set zeros_count instead of the table's measured_h100: not covered by this evidence\n";
    for (const char* key : {"sm_90:mma.fp16.fp32", "sm_80:mma.fp64.fp64", "sm_80:mma.s8.s32",
                            "sm_100:tcgen05.mxf8f6f4.e4m3.fp32", "gfx908:mfma.fp16.fp32"}) {
        const std::string evidence = "evidence: ordinary values " + std::string(name_of(find_unit(key).evidence));
        const std::string all = "evidence: " + evidence_text(find_unit(key)) + "\n";
        const char* operands = std::string(key).ends_with("s32") ? "one.npy" : "half.npy";
        check_ends(product(key, operands, {}), 0, evidence);
        CHECK(ulplab(product(key, operands, {})).output.find("not covered") == std::string::npos);
        check_ends({"explain", "--unit", key, "--a", "1", "--b", "1"}, 0, evidence);
        check_ends(product(key, operands, {"--evidence"}), 0, all);
        check_ends({"explain", "--unit", key, "--a", "1", "--b", "1", "--evidence"}, 0, all);
    }
    const std::string h100 = "sm_90:mma.bf16.fp32";
    check_ends(product(h100, "half.npy", {"--policy", "zeros_count"}), 0, not_of_b);
    check_ends({"explain", "--unit", h100, "--a", "1", "--b", "1", "--policy", "zeros_count"}, 0, not_of_b);
    const Finished own = ulplab({"explain", "--unit", h100, "--a", "1", "--b", "1", "--policy", "measured_h100"});
    CHECK(own.output.find("not covered") == std::string::npos);
    check_ends(product("gfx908:mfma.fp16.fp32", "half.npy", {"--policy", "zeros_count"}), 2, "has no --policy");
}

TEST_CASE("models names the policy set, and evidence aspect by aspect") {
    check_ends({"models", "--unit", "A100"}, 0, "H      RPPppp");
    check_ends({"models", "--unit", "H100"}, 0, "H      LLLLLL");
    check_ends({"models", "--unit", "A100", "--json"}, 0, "\"policies\": \"H\"");
    check_ends({"dev", "page", "models"}, 0, "ordinary values: recorded (published recordings of A100");
}

TEST_CASE("discover checks the rows that match, and says which of them the unit contradicts") {
    const Finished ended = ulplab({"discover", "--unit", "soft:h100", "--blocks", "70000"});
    CHECK(ended.exit_code == 0);
    CHECK(ended.output.find("sm_90:mma.fp16.fp32: none differs") != std::string::npos);
    const bool same = ulp::unit_model<ulp::TensorCoreModel>("sm_100:mma.fp16.fp32").policies ==
                      ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32").policies;
    CHECK((ended.output.find("sm_100:mma.fp16.fp32: none differs") != std::string::npos) == same);
    check_ends({"discover", "--unit", "soft:h100", "--blocks", "-1"}, 2, "--blocks");
}

TEST_CASE("every row that models lists is recovered by discover, whatever its kind") {
    const std::string listed = ulplab({"models", "--json"}).output;
    const std::string field = "\"model\": \"";
    int rows = 0;
    for (auto at = listed.find(field); at != std::string::npos; at = listed.find(field, at + 1)) {
        const auto first = at + field.size();
        const std::string key = listed.substr(first, listed.find('"', first) - first);
        check_ends({"discover", "--unit", key, "--blocks", "70"}, 0, "\n  " + key + "  (");
        ++rows;
    }
    CHECK(rows > 200);
}

TEST_CASE("bound says how far a product can be off, and finds one that is another unit's") {
    const test::TemporaryFolder folder;
    const auto at = [&](const char* name) { return (folder / name).string(); };
    std::vector<float> a(4 * 512), b(512 * 4);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1 + static_cast<float>(i * 389 % 1024) * 0x1p-10F;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 + static_cast<float>(i * 619 % 1024) * 0x1p-10F;
    npy::write(at("a.npy"), npy::matrix("<f4", 4, 512, a));
    npy::write(at("b.npy"), npy::matrix("<f4", 512, 4, b));
    const auto bound = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"bound",     "--unit", "sm_90:mma.fp16.fp32", "--a",
                                              at("a.npy"), "--b",    at("b.npy"),           "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return ulplab(arguments);
    };
    for (const auto& [row, violations] : {std::pair{"sm_90:mma.fp16.fp32", false}, {"sm_70:mma.fp16.fp32", true}}) {
        const std::string unit = row;
        INFO(unit);
        REQUIRE(ulplab({"matmul", "--unit", unit, at("a.npy"), at("b.npy"), "--out", at("d.npy")}).exit_code == 0);
        const Finished run = bound({"--d", at("d.npy"), "--out", at("e.npy")});
        const auto json = nlohmann::json::parse(run.output);
        CHECK(json.at("level") == "running");
        CHECK(json.at("k") == 512);
        CHECK(json.at("groups") == 32);
        CHECK((json.at("violations") > 0) == violations);
        CHECK(run.exit_code == (violations ? 1 : 0));
        const npy::Numbers bounds = npy::read_numbers(at("e.npy"));
        CHECK(*std::max_element(bounds.values.begin(), bounds.values.end()) == json.at("max_absolute"));
        CHECK(json.at("max_absolute") < json.at("gamma").get<double>() * 1e6);
        for (const char* key : {"eta", "shares", "max_relative", "at", "expected_bias", "overflow", "atol", "rtol"}) {
            CHECK(json.contains(key));
        }
    }
    // Each level sees more than the one before.
    const auto largest = [&](const char* level) {
        return nlohmann::json::parse(bound({"--level", level}).output).at("max_absolute").get<double>();
    };
    CHECK(largest("running") <= largest("magnitudes"));
    CHECK(largest("magnitudes") < largest("apriori"));
    check_ends({"bound", "--unit", "sm_90:mma.fp16.fp32", "-k", "64", "--max", "1e30,1e30"}, 0, "overflow   possible");
    check_ends({"bound", "--unit", "sm_90:mma.fp16.fp32"}, 2, "either -k or the files --a and --b");
    check_ends({"bound", "--unit", "sm_90:mma.fp16.fp32", "-k", "1048576"}, 2, "k from 0 to 1048575");
    check_ends({"bound", "--unit", "sm_80:mma.s8.s32", "-k", "16"}, 2, "exact until they wrap");
    check_ends({"bound", "--unit", "sm_90:mma.fp16.fp32", "-k", "16", "--level", "running"}, 2,
               "give the files --a and --b");
    check_ends({"bound", "--unit", "sm_90:mma.fp16.fp32", "-k", "16", "--max", "-1,1"}, 2, "a magnitude, 0 or more");
}

TEST_CASE("schemes make fp32 and fp64 products within their bounds, and say what they need") {
    const test::TemporaryFolder folder;
    const auto at = [&](const char* name) { return (folder / name).string(); };
    std::vector<double> a(4 * 96), b(96 * 3);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<double>(i));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<double>(i) * 1.7);
    const std::vector<float> a32(a.begin(), a.end()), b32(b.begin(), b.end());
    npy::write(at("a.npy"), npy::matrix("<f8", 4, 96, a));
    npy::write(at("b.npy"), npy::matrix("<f8", 96, 3, b));
    npy::write(at("a32.npy"), npy::matrix("<f4", 4, 96, a32));
    npy::write(at("b32.npy"), npy::matrix("<f4", 96, 3, b32));
    const std::string bf16 = "sm_90:wgmma.bf16.fp32", int8 = "sm_90:wgmma.s8.s32";
    struct Case {
        std::string unit, scheme;
        bool wide;
        std::string said;
    };
    for (const Case& each : {Case{bf16, "bf16x9", false, "by bf16x9: 9 products of 4 x 3 x 96, fp32 in and out"},
                             {bf16, "bf16x9", false, "the unit, operands rounded"},
                             {int8, "ozaki1", true, "by ozaki1:9: 45 products of 4 x 3 x 96, fp64 in and out"},
                             {int8, "ozaki2", false, "by ozaki2:8: 8 products"},
                             {bf16, "ozaki2", true, "fma after fma in fp64"}}) {
        const std::string x = at(each.wide ? "a.npy" : "a32.npy"), y = at(each.wide ? "b.npy" : "b32.npy");
        check_ends({"matmul", "--unit", each.unit, "--scheme", each.scheme, x, y, "--out", at("d.npy")}, 0, each.said);
        CHECK(npy::read(at("d.npy")).dtype == (each.wide ? "<f8" : "<f4"));
        const std::vector<std::string> bound = {"bound", "--unit", each.unit, "--scheme", each.scheme, "--a",
                                                x,       "--b",    y,         "--d",      at("d.npy")};
        check_ends(bound, 0, "0 elements outside their bounds");
        auto numbers = npy::read_numbers(at("d.npy")).values;
        numbers[5] *= 1.01;
        npy::write(at("d.npy"), npy::matrix("<f8", 4, 3, numbers));
        check_ends(bound, 1, "1 elements outside their bounds");
    }
    const auto json =
        nlohmann::json::parse(ulplab({"bound", "--unit", int8, "--scheme", "ozaki1:8", "-k", "4096", "--json"}).output);
    CHECK(json.at("scheme") == "ozaki1:8");
    CHECK(json.at("products") == 36);
    CHECK(json.at("gamma").get<double>() > 4 * 9 * 0x1p-56);
    CHECK(json.at("gamma").get<double>() < 4 * 9 * 0x1p-56 + 11 * 0x1p-53);
    check_ends({"bound", "--unit", bf16, "--scheme", "bf16x9", "-k", "64", "--max", "2,3"}, 0, "tolerance  atol");
    check_ends({"bound", "--unit", bf16, "--scheme", "bf16x9", "-k", "64", "--level", "running"}, 2,
               "leave the rest out");
    const auto refused = [&](const std::string& unit, const std::string& scheme, const std::vector<std::string>& more,
                             const std::string& text) {
        std::vector<std::string> arguments = {"matmul",    "--unit",    unit,    "--scheme",    scheme,
                                              at("a.npy"), at("b.npy"), "--out", at("none.npy")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        check_ends(arguments, 2, text);
    };
    refused(int8, "bf16x9", {}, "take a row such as sm_90:wgmma.bf16.fp32, or ozaki1 on this one");
    refused(bf16, "bf16x9", {}, "take ozaki1 or ozaki2 for float64");
    refused("sm_80:mma.u8.s32", "ozaki1", {}, "sm_90:mma.s8.s32");
    refused(int8, "ozaki3", {}, "there is no scheme 'ozaki3'; choose bf16x3");
    refused(int8, "ozaki1", {"--alpha", "2"}, "leave the rest out");
    refused("cublas-13.1@H100", "ozaki1", {}, "takes A, B, C");
    CHECK_FALSE(fs::exists(folder / "none.npy"));
}

TEST_CASE("fp64 arrays are bounded and explained, and multiplied in every order") {
    const test::TemporaryFolder folder;
    const auto at = [&](const char* name) { return (folder / name).string(); };
    std::vector<double> a(3 * 40), b(40 * 5);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1 / static_cast<double>(i + 3);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 - 1 / static_cast<double>(i + 7);
    npy::write(at("a.npy"), npy::matrix("<f8", 3, 40, a));
    npy::write(at("b.npy"), npy::matrix("<f8", 40, 5, b));
    const std::string unit = "sm_90:mma.fp64.fp64";
    const auto run = [&](const std::string& command, const std::vector<std::string>& more) {
        std::vector<std::string> arguments{command, "--unit", unit, "--a", at("a.npy"), "--b", at("b.npy")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    check_ends({"matmul", "--unit", unit, at("a.npy"), at("b.npy"), "--order", "split=2", "--out", at("d.npy")}, 0,
               "products");
    check_ends(run("explain", {"--d", at("d.npy"), "--json"}), 0, "\"order\": \"split-k 2\"");
    check_ends(run("bound", {"--order", "split=2", "--d", at("d.npy"), "--out", at("e.npy")}), 0, "level      apriori");
    CHECK(npy::read_numbers(at("e.npy")).values.size() == 15);
    npy::write(at("d.npy"), npy::matrix("<f8", 3, 5, std::vector<double>(15, 1)));
    check_ends(run("bound", {"--d", at("d.npy")}), 1, "15 elements outside their bounds");
    check_ends(run("bound", {"--against", "fp64"}), 0, "against fp64");
    check_ends(run("bound", {"--against", "sm_90:mma.fp16.fp32"}), 2, "give one with the same operands");
    check_ends(run("bound", {"--level", "running"}), 2, "has --level apriori");
    check_ends(run("bound", {"--rounding", "nearest_even"}), 2, "without --rounding");
    check_ends(run("explain", {"--d", at("a.npy")}), 3, "D is 3 x 40, the product of A and B 3 x 5");
}

TEST_CASE("one element of a product of files is explained on units of every kind") {
    const test::TemporaryFolder folder;
    const auto at = [&](const char* name) { return (folder / name).string(); };
    const auto multiplied = [&](const std::string& unit, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"matmul", "--unit", unit, at("a.npy"), at("b.npy"), "--out", at("d.npy")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        check_ends(arguments, 0, "products");
    };
    const auto explained = [&](const std::string& unit, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"explain",   "--unit", unit,        "--a",  at("a.npy"), "--b",
                                           at("b.npy"), "--d",    at("d.npy"), "--at", "1,2"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    SUBCASE("fp64") {
        std::vector<double> a(2 * 40), b(40 * 3);
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1 / static_cast<double>(i + 3);
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 - 1 / static_cast<double>(i + 7);
        npy::write(at("a.npy"), npy::matrix("<f8", 2, 40, a));
        npy::write(at("b.npy"), npy::matrix("<f8", 40, 3, b));
        const std::string unit = "sm_90:mma.fp64.fp64";
        multiplied(unit, {"--order", "split=2"});
        check_ends(explained(unit), 0, "explained by\n  sm_90:mma.fp64.fp64, split-k 2\n");
        check_ends(explained(unit, {"--policy", "leading_bit"}), 2, "has no --policy");
        check_ends(explained(unit, {"--c", at("a.npy")}), 3, "a.npy is 2 x 40, the product of A and B 2 x 3");
    }
    SUBCASE("integers, which saturate or wrap") {
        npy::write(at("a.npy"), npy::matrix("|i1", 2, 4, std::vector<std::int8_t>{1, 2, 3, 4, 5, -6, 7, 8}));
        npy::write(at("b.npy"), npy::matrix("|i1", 4, 3, std::vector<std::int8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}));
        npy::write(at("c.npy"), npy::matrix("<i4", 2, 3, std::vector<std::int32_t>{0, 0, 0, 0, 0, 2147483640}));
        const std::string unit = "sm_80:mma.s8.s32.satfinite";
        check_ends({"matmul", "--unit", unit, at("a.npy"), at("b.npy"), at("c.npy"), "--out", at("d.npy")}, 0,
                   "products");
        const auto with_c = explained("sm_80:mma.s8.s32", {"--c", at("c.npy")});
        check_ends(with_c, 0, "beyond s32: wraps to -2147483590");
        check_ends(with_c, 0,
                   "given result 7FFFFFFF (2147483647)\nexplained by\n  sm_75:mma.s8.s32.satfinite\n  sm_80");
        auto of_five = explained(unit, {"--c", at("c.npy")});
        of_five[8] = "5";
        check_ends(of_five, 0, "none of the computations above");
        check_ends(explained("sm_80:mma.s4.s32"), 3, "element (1, 3) = 8 is outside [-8, 7]");
        auto beyond = explained(unit);
        beyond[10] = "2,2";
        check_ends(beyond, 2, "is 2 x 4 and has no element (2, 0)");
    }
    SUBCASE("block-scaled elements") {
        npy::write(at("a.npy"), npy::matrix("<f4", 2, 2, std::vector<float>{1, 2, 6, -4}));
        npy::write(at("b.npy"), npy::matrix("<f4", 2, 3, std::vector<float>{0, 0, 0.5, 0, 0, 1}));
        const std::string unit = "sm_120:mma.nvf4.e2m1.fp32";
        multiplied(unit);
        check_ends(explained(unit), 0, "given result BF800000 (-1)\nexplained by\n  sm_120:mma.nvf4.e2m1.fp32\n");
        check_ends(explained(unit, {"--a-scales", "2"}), 0, "none of the computations above gives this result");
    }
}

TEST_CASE("two results of one product are explained by their orders, or by their share of the bounds") {
    const test::TemporaryFolder folder;
    const auto at = [&](const char* name) { return (folder / name).string(); };
    std::vector<float> a(8 * 256), b(256 * 8);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1 + static_cast<float>(i * 389 % 1021) * 0x1p-10F;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 - static_cast<float>(i * 619 % 1019) * 0x1p-11F;
    npy::write(at("a.npy"), npy::matrix("<f4", 8, 256, a));
    npy::write(at("b.npy"), npy::matrix("<f4", 256, 8, b));
    const auto product = [&](const std::string& unit, const std::string& order, const char* d) {
        check_ends({"matmul", "--unit", unit, at("a.npy"), at("b.npy"), "--order", order, "--out", at(d)}, 0, unit);
    };
    const std::string h100 = "sm_90:mma.fp16.fp32", a100 = "sm_80:mma.fp16.fp32";
    product(h100, "split=1", "d1.npy");
    product(a100, "split=4", "d2.npy");
    const auto compared = [&](const char* x, const char* y, const std::vector<std::string>& more, int exit_code,
                              const std::string& text) {
        std::vector<std::string> arguments{"compare", at(x),       at(y),    "--a", at("a.npy"),
                                           "--b",     at("b.npy"), "--unit", h100};
        arguments.insert(arguments.end(), more.begin(), more.end());
        check_ends(arguments, exit_code, text);
    };
    compared("d1.npy", "d2.npy", {"--against", a100}, 0, "\nexplained\n");
    compared("d1.npy", "d2.npy", {"--against", a100, "--json"}, 0, "\"verdict\": \"explained\"");
    compared("d1.npy", "d2.npy", {"--limit", "rtol=1e-3"}, 0, "times the bound");
    compared("d1.npy", "d1.npy", {}, 0, "\nequal\n");
    compared("d1.npy", "d2.npy", {"--limit", "1e-3"}, 2, "--limit takes rtol=N, atol=N");
    check_ends({"compare", at("d1.npy"), at("d2.npy"), "--a", at("a.npy")}, 2, "--a A.npy --b B.npy --unit KEY");
    auto wrong = npy::read_numbers(at("d2.npy")).values;
    wrong[5] *= 1.5;
    npy::write(at("d3.npy"), npy::matrix("<f8", 8, 8, wrong));
    compared("d1.npy", "d3.npy", {}, 4, "\noutside the bounds\n");
    const std::vector<std::string> explained = {"explain",   "--unit", h100,        "--a",
                                                at("a.npy"), "--b",    at("b.npy"), "--d"};
    const auto explain = [&](const char* d, int exit_code, const char* text) {
        std::vector<std::string> arguments = explained;
        arguments.push_back(at(d));
        check_ends(arguments, exit_code, text);
    };
    explain("d1.npy", 0, "\nexplained (");
    explain("d3.npy", 4, "\noutside the bound\n");
    // What no such product can be.
    wrong[5] = 1.1;
    npy::write(at("d4.npy"), npy::matrix("<f8", 8, 8, wrong));
    explain("d4.npy", 3, "a result is not rounded, and this unit gives none that fp32 does not hold");
    npy::write(at("d5.npy"), npy::matrix("<i4", 8, 8, std::vector<std::int32_t>(64)));
    explain("d5.npy", 3, "type '<i4' holds no fp32; save float16, float32 or the codes as uint32");
    check_ends({"explain", "--unit", h100, "--a", at("a.npy"), "--b", at("b.npy"), "--d", at("d1.npy"), "--alpha", "0"},
               3, "alpha is 0, so D = beta * C whatever multiplies A and B");
    // Operands for the ways that agree.
    npy::write(at("ones.npy"), npy::matrix("<f4", 64, 64, std::vector<float>(4096, 1)));
    npy::write(at("sum.npy"), npy::matrix("<f4", 64, 64, std::vector<float>(4096, 65)));
    const std::string ones = at("ones.npy");
    check_ends(
        {"explain", "--unit", h100, "--a", ones, "--b", ones, "--c", ones, "--d", at("sum.npy"), "--out", at("apart")},
        0, "ways apart: multiply them, and explain that D");
    for (const auto& [name, rows, cols] : {std::tuple{"a", 16, 64}, {"b", 64, 16}, {"c", 16, 16}}) {
        const std::string file = at(("apart_" + std::string(name) + ".npy").c_str());
        CHECK(npy::read(file).shape == std::vector<std::int64_t>{rows, cols});
    }
}

TEST_CASE("a file that describes a unit stands for a row") {
    const test::TemporaryFolder folder;
    const auto at = [&](const char* name) { return (folder / name).string(); };
    const std::string row = ulplab({"models", "--unit", "sm_90:mma.fp16.fp32", "--json"}).output;
    write_file(at("row.json"), row);
    std::string sticky = row;
    sticky.replace(sticky.find("\"sticky\": false"), 15, "\"sticky\": true");
    write_file(at("sticky.json"), sticky);
    std::string misspelt = row;
    misspelt.replace(misspelt.find("\"sticky\""), 8, "\"stiky\"");
    write_file(at("misspelt.json"), misspelt);
    std::vector<float> a(4 * 64), b(64 * 4);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1 + static_cast<float>(i * 389 % 1024) * 0x1p-10F;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 - static_cast<float>(i * 619 % 1024) * 0x1p-11F;
    npy::write(at("a.npy"), npy::matrix("<f4", 4, 64, a));
    npy::write(at("b.npy"), npy::matrix("<f4", 64, 4, b));
    const auto product = [&](const std::string& model, const char* d) {
        check_ends({"matmul", "--unit", model, at("a.npy"), at("b.npy"), "--out", at(d)}, 0, model);
        return read_file(at(d));
    };
    CHECK(product(at("row.json"), "d1.npy") == product("sm_90:mma.fp16.fp32", "d2.npy"));
    const auto ordered = [&](const std::vector<std::string>& order, int exit_code, const char* text) {
        std::vector<std::string> arguments = {"matmul",    "--unit", "sm_80:mma.fp16.fp16", at("a.npy"),
                                              at("b.npy"), "--out",  at("d3.npy")};
        arguments.insert(arguments.end(), order.begin(), order.end());
        check_ends(arguments, exit_code, text);
        return exit_code == 0 ? read_file(at("d3.npy")) : std::string();
    };
    const std::string chain = ordered({}, 0, "products");
    CHECK(ordered({"--order", "piece=32"}, 0, "products") == ordered({"--order", "split=2"}, 0, "products"));
    CHECK(ordered({"--order", "split=2"}, 0, "products") != chain);
    CHECK(ordered({"--order", "split=2,sum=bf16"}, 0, "products") != chain);
    CHECK(ordered({"--order", "split=3,reduce=descending"}, 0, "products") != chain);
    ordered({"--order", "split=2,narrow"}, 2, "--order narrow is now: sum=FORMAT");
    ordered({"--order", "sum=bf16"}, 2, "give split or piece");
    ordered({"--order", "split=2,sum=bf17"}, 2, "bf17");
    CHECK(ordered({"--order", "split=2", "--order", "slice=16"}, 0, "products") != chain);
    CHECK(ordered({"--order", "tile=32"}, 0, "products") == chain);
    CHECK(ordered({"--order", "tile=37"}, 0, "products") != chain);
    ordered({"--order", "slice=16"}, 2, "give that, too");
    ordered({"--order", "splits=2"}, 2, "--order has no 'splits=2'; it takes, with commas, split=N");
    ordered({"--order", "split=two"}, 2, "this is not a whole number; give split=N");
    ordered({"--order", "piece=16", "--order", "split=2"}, 2, "exclude each other");
    check_ends({"matmul", "--unit", at("misspelt.json"), at("a.npy"), at("b.npy"), "--out", at("d.npy")}, 3,
               "\"stiky\" is not known here; there are ulplab_unit, name, kind, summation");
    check_ends({"matmul", "--unit", at("missing.json"), at("a.npy"), at("b.npy"), "--out", at("d.npy")}, 3,
               "there is no such file");
    check_ends({"explain", "--unit", at("sticky.json"), "--a", "1,-1,0x1.8p-13", "--b", "1,1,0x1p-13"}, 0,
               "result 32800000");
    check_ends({"explain", "--unit", at("row.json"), "--a", "1,-1,0x1.8p-13", "--b", "1,1,0x1p-13"}, 0,
               "result 00000000");
    check_ends({"bound", "--unit", at("row.json"), "-k", "64"}, 0, "4 groups in a chain");
    check_ends({"bound", "--unit", at("sticky.json"), "-k", "64"}, 0, "expected   unknown");
    check_ends({"discover", "--unit", at("row.json"), "--blocks", "700"}, 0, "sm_90:mma.fp16.fp32: none differs");
    check_ends({"discover", "--unit", at("sticky.json"), "--against", "sm_90:mma.fp16.fp32"}, 4, "differ (");
    check_ends({"discover", "--unit", "soft:" + at("row.json"), "--against", at("row.json"), "--blocks", "7000"}, 0,
               "none differs");
    check_ends({"models", "--unit", "sm_90:mma.fp16.fp32"}, 0, "evidence: ordinary values");
    check_ends({"discover", "--table", "--unit", at("row.json")}, 0, "P2   400FFFFF");
    write_set(folder.path(), "H100", "01000000101000000000000000000000");
    check_ends({"verify", folder.path().string(), "--unit", at("sticky.json")}, 0, "H100 fp16 fp16->fp32 1/1\n");
    const auto recorded = [](const std::string& name) {
        return ULPLAB_RECORDINGS "/h100_80gb_hbm3/mma.m16n8k16." + name + ".recording";
    };
    check_ends({"verify", recorded("fp16.fp32"), "--unit", at("row.json")}, 0, "samples 768/768, bulk 96/96");
    check_ends({"verify", recorded("fp16.fp32"), "--unit", at("sticky.json")}, 4, "first difference: ");
    check_ends({"verify", recorded("s8.s32"), "--unit", "sm_90:mma.s8.s32"}, 0, "samples 128/128, bulk 12/12");
    check_ends({"verify", recorded("s8.s32"), "--unit", "sm_90:mma.u8.s32"}, 2, "is u8 -> s32, and the recording of");
}

TEST_CASE("discover and verify ask black boxes") {
    const test::TemporaryFolder folder;
    const std::string found = (folder / "found.json").string();
    const std::string box = std::string("program:") + ULPLAB_BOX_PROGRAM + " ";
    check_ends({"discover", "--unit", box + "plain", "-k", "8", "--blocks", "3000", "--out", found}, 0,
               "sm_75:mma.fp16.fp32: none differs");
    check_ends({"discover", "--unit", box + "plain", "-k", "8", "--against", found, "--blocks", "3000"}, 0,
               "none differs");
    check_ends({"discover", "--unit", box + "unstable", "-k", "8", "--blocks", "3000"}, 4, "not deterministic");
    check_ends({"discover", "--unit", box + "constant", "-k", "8"}, 4, "constant: the unit answers 3F800000 (1)");
    check_ends({"discover", "--unit", box + "dies", "-k", "8"}, 3, "ended after 5 answers");
    check_ends({"discover", "--unit", box + "plain", "-k", "257"}, 2, "1 to 256 products");
    check_ends({"discover", "--unit", box + "s8", "-k", "8", "--format", "s8,s32", "--blocks", "3000"}, 0,
               "operands              s8 x s8");
    check_ends({"discover", "--unit", box + "s8_clamps_each", "-k", "8", "--format", "s8,s32", "--blocks", "3000"}, 4,
               "none of the integer units that a file describes");
    check_ends({"discover", "--unit", box + "s8_unstable", "-k", "8", "--format", "s8,s32", "--blocks", "3000"}, 4,
               "not deterministic");
    check_ends({"discover", "--table", "--unit", box + "s8", "-k", "8", "--format", "s8,s32"}, 0,
               "I5   -2147483648  it wraps");
    check_ends({"discover", "--table", "--unit", box + "s8_clamps_each", "-k", "8", "--format", "s8,s32"}, 0,
               "I7    2147483646  after each, signed");
    check_ends({"discover", "--table", "--unit", "sm_80:mma.b1_xor.s32", "-k", "8", "--format", "s8,s32"}, 0,
               "I4             1  xor of bits");
    check_ends({"discover", "--unit", box + "s8", "-k", "32", "--format", "s8,s32", "--against", "sm_80:mma.fp16.fp32"},
               2, "is fp16 -> fp32, and the unit asked is one of integers");
    check_ends({"discover", "--table", "--unit", box + "plain", "-k", "8"}, 0, "as ");
    check_ends({"discover", "--table", "--unit", box + "plain", "-k", "8", "--format", "e2m1,fp32"}, 2,
               "there is no probe");
}
