// All 2^32 operands of every pinned function. One function is about ten minutes of one core; ULPLAB_SHARD=3/16 takes
// the third sixteenth of the operands, so that several machines or evenings can share the work.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/softfloat/functions/function_oracle.hpp"
#include "tests/softfloat/functions/functions_under_test.hpp"

namespace ulp::test {
namespace {

struct Shard {
    std::uint64_t index = 1;
    std::uint64_t count = 1;
};
Shard shard_from_environment() {
    const char* text = std::getenv("ULPLAB_SHARD");
    if (text == nullptr) return {};
    Shard shard;
    char rest = 0;
    if (std::sscanf(text, "%lu/%lu%c", &shard.index, &shard.count, &rest) != 2 || shard.index < 1 ||
        shard.index > shard.count || shard.count > 65536) {
        throw std::invalid_argument(fmt::format("ULPLAB_SHARD is {}: give i/n with 1 <= i <= n <= 65536", text));
    }
    return shard;
}

/// Compares bits, NaN included: blocks of 2^16 operands, those with block % count == index - 1.
void check_all(std::string_view name) {
    const auto row = std::find_if(functions_under_test.begin(), functions_under_test.end(),
                                  [&](const FunctionUnderTest& f) { return f.name == name; });
    const FunctionOracle judge(name);
    const Shard shard = shard_from_environment();
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint32_t> first{0};
#pragma omp parallel for schedule(dynamic, 1)
    for (std::uint32_t block = 0; block < 65536; ++block) {
        if (block % shard.count != shard.index - 1) continue;
        for (std::uint32_t low = 0; low < 65536; ++low) {
            const std::uint32_t bits = block << 16 | low;
            const auto x = std::bit_cast<float>(bits);
            const auto got = std::bit_cast<std::uint32_t>(row->pinned(x));
            if (got == std::bit_cast<std::uint32_t>(judge.nearest_float(x))) continue;
            if (wrong++ == 0) first = bits;
        }
        const std::uint64_t blocks = ++done;
        if (blocks % 2048 == 0) {
            fmt::print(stderr, "{}: {:.1f} % of all operands, {} wrong\n", name, static_cast<double>(blocks) / 655.36,
                       wrong.load());
        }
    }
    fmt::print("{}: {} operands checked (shard {}/{}), {} wrong\n", name, done.load() * 65536, shard.index, shard.count,
               wrong.load());
    INFO(name, " at ", fmt::format("{:08X}", first.load()));
    CHECK(wrong == 0);
}

TEST_CASE("all fp32 operands: exp") { check_all("exp"); }
TEST_CASE("all fp32 operands: exp2") { check_all("exp2"); }
TEST_CASE("all fp32 operands: expm1") { check_all("expm1"); }
TEST_CASE("all fp32 operands: log") { check_all("log"); }
TEST_CASE("all fp32 operands: log2") { check_all("log2"); }
TEST_CASE("all fp32 operands: log1p") { check_all("log1p"); }
TEST_CASE("all fp32 operands: sin") { check_all("sin"); }
TEST_CASE("all fp32 operands: cos") { check_all("cos"); }
TEST_CASE("all fp32 operands: tanh") { check_all("tanh"); }
TEST_CASE("all fp32 operands: sigmoid") { check_all("sigmoid"); }
TEST_CASE("all fp32 operands: erf") { check_all("erf"); }
TEST_CASE("all fp32 operands: gelu") { check_all("gelu"); }
TEST_CASE("all fp32 operands: softplus") { check_all("softplus"); }
TEST_CASE("all fp32 operands: rsqrt") { check_all("rsqrt"); }
TEST_CASE("all fp32 operands: cbrt") { check_all("cbrt"); }

}  // namespace
}  // namespace ulp::test
