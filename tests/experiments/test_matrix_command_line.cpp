// The subcommands on matrix units as a user meets them: exit codes and sentences.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "engine/io/npy.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/subprocess.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

Finished ulplab(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ULPLAB_PROGRAM);
    return run_program(arguments);
}

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
    check_ends({"gpu", "record", "--device", "software:sm_90", "--instruction", "mma.m16n8k8.fp16.fp32", "--digests",
                "1", "--out", path},
               0, "");
    write_set(folder.path(), "H100", "01000000101000000000000000000000");
    check_ends({"verify", path}, 0, "mma.m16n8k8.fp16.fp32 probes");
    check_ends({"verify", path}, 0, "H100 fp16 fp16->fp32 1/1\n");
    write_set(folder.path(), "H100", "01000000101000000000000000000001");
    check_ends({"verify", path}, 4, "mma.m16n8k8.fp16.fp32 probes");
    check_ends({"verify", path}, 4, "H100 fp16 fp16->fp32 0/1\n");
}

TEST_CASE("verify prints a line a set, and ends with 4 and the first difference in full") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path().string();
    check_ends({"verify", path}, 3, "holds no recordings");
    check_ends({"verify", path + "/missing"}, 3, "no such folder");
    write_set(folder.path(), "H100", "01000000101000000000000000000000");
    check_ends({"verify", path}, 0, "H100 fp16 fp16->fp32 1/1\n");
    check_ends({"verify", path, "--policy", "A"}, 0, "1/1");
    check_ends({"verify", path, "--policy", "Q"}, 2, "no policy set 'Q'; choose one of A, B, C, D, E");
    write_set(folder.path(), "K80", "01000000101000000000000000000000");
    check_ends({"verify", path}, 0, "K80 fp16 fp16->fp32 has no model");
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
        "matmul", "--model", "sm_90:wgmma.fp16.fp32", file("a.npy"), file("b.npy"), "-o", file("d.npy")};
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
    check_ends(with({"--promote", "100"}), 2, "choose a multiple of 16");
    check_ends(with({"--transpose-b"}), 3, "the inner sizes differ");
    check_ends({"matmul", "--model", "sm_91:x", file("a.npy"), file("b.npy"), "-o", file("e.npy")}, 2,
               "there is no model 'sm_91:x'; nearest are sm_");
    check_ends({"matmul", "--model", "sm_90:mma.fp16.fp32", file("a.npy"), file("c.npy"), "-o", file("e.npy")}, 3,
               "c.npy: cannot be opened");
    CHECK_FALSE(fs::exists(file("e.npy")));
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
        std::vector<std::string> arguments{"matmul", "--model", key, file("a.npy"), file("b.npy"), "-o", file("d.npy")};
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
    check_ends(product("sm_120:mma.nvf4.e2m1.fp32", {"--a-scales", file("x.npy")}), 0, "claimed");
    CHECK(result(0.0F) == 80.0F);
    check_ends(product("sm_80:mma.u8.s32", {}), 0, "products");
    CHECK(result(0) == 256);
    check_ends(product("sm_120:mma.nvf4.e2m1.fp32", {"--b-scales", file("x.npy")}), 3,
               "the scales are 1 x 4, the blocks 4 x 1");
    check_ends(product("sm_80:mma.u8.s32", {"--a-scales", file("x.npy")}), 2, "has no scales");
    check_ends(product("sm_120:mma.nvf5.e2m1.fp32", {}), 2, "nearest are sm_120:mma.nvf4.e2m1.fp32");
    check_ends({"discover", "--backend", "sm_90:mma.fp61.fp32"}, 2, "nearest are sm_90:mma.fp16.fp32");
    check_ends({"discover", "--backend", "sm_80:mma.s4.s32"}, 0, "operands              s4 x s4");
    check_ends({"discover", "--backend", "sm_120:mma.e2m1.fp16"}, 0, "cannot be asked in these formats");
    check_ends({"discover", "--backend", "sm_120:mma.nvf4.e2m1.fp32"}, 0, "elements of a scale   16");
    check_ends({"discover", "--backend", "sm_120:mma.nvf4.e2m1.fp32"}, 0, "products added exactly 16");
    check_ends({"models", "--gpu", "V100"}, 0, "sm_70:mma.fp16.fp16");
    check_ends({"models", "--format", "json"}, 0, "\"evidence\": \"seen live\"");
}

TEST_CASE("explain names what explains a result, discover finds a unit's parameters, probe-table lists predictions") {
    const std::vector<std::string> explain = {
        "explain",  "--model",  "sm_90:mma.fp16.fp32", "--a", "1.5,#8C00,1", "--b", "1.5,#0800,#2E66", "--c", "1",
        "--result", "#40566600"};
    check_ends(explain, 0, "explained by\n  sm_7");
    check_ends({"explain", "--model", "sm_90:mma.fp16.fp32", "--a", "0.1", "--b", "1"}, 2,
               "a[0]: 0.1 is not a value of fp16; use --round");
    check_ends({"explain", "--model", "sm_90:mma.fp16.fp32", "--a", "1,2", "--b", "1"}, 2, "as many values");
    check_ends({"discover", "--backend", "soft:a100"}, 0, "summation tree        ((c 0-7) 8-15)");
    check_ends({"discover", "--backend", "soft:a100"}, 0, "F = 24 fraction bits");
    check_ends({"discover", "--backend", "soft:v101"}, 2, "soft:v101");
    check_ends({"probe-table"}, 0, "sm_90:mma.bf16.fp32        30800000 00000000 30800000 30800000 00000000");
    check_ends({"probe-table", "--gpu", "K80"}, 2, "there is no GPU model 'K80'");
}

TEST_CASE("every row that models lists is recovered by discover, whatever its kind") {
    const std::string listed = ulplab({"models", "--format", "json"}).output;
    const std::string field = "\"model\": \"";
    int rows = 0;
    for (auto at = listed.find(field); at != std::string::npos; at = listed.find(field, at + 1)) {
        const auto first = at + field.size();
        const std::string key = listed.substr(first, listed.find('"', first) - first);
        check_ends({"discover", "--backend", key}, 0, "\n  " + key + "  (");
        ++rows;
    }
    CHECK(rows > 200);
}
