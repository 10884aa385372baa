// sweep_functions: all 2^32 operands of every fp32 function against the judge of function_oracle.hpp, in
// one command (tests/softfloat/sweep/program.hpp tells the options). A function takes minutes of a core.
#include <cstdio>

#include "tests/softfloat/functions/function_oracle.hpp"
#include "tests/softfloat/functions/functions_under_test.hpp"
#include "tests/softfloat/sweep/program.hpp"

namespace ulp::sweep {
namespace {

std::string described(std::uint32_t operand, std::uint32_t got, std::uint32_t expected) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%08X: %08X, expected %08X", operand, got, expected);
    return text.data();
}

/// Compares bits, NaN included.
Difference check_chunk(const test::FunctionUnderTest& function, const test::FunctionOracle& judge, int chunk) {
    constexpr int blocks = 64;
    constexpr std::uint32_t block_length = cases_in_chunk / blocks;
    Difference total;
#pragma omp parallel for schedule(dynamic)
    for (int block = 0; block < blocks; ++block) {
        const std::uint32_t first =
            (static_cast<std::uint32_t>(chunk) * blocks + static_cast<std::uint32_t>(block)) * block_length;
        Difference found;
        for (std::uint32_t bits = first; bits - first < block_length; ++bits) {
            const auto x = std::bit_cast<float>(bits);
            const auto got = std::bit_cast<std::uint32_t>(function.cr(x));
            const auto expected = std::bit_cast<std::uint32_t>(judge.nearest_float(x));
            if (got == expected) continue;
            if (found.count++ == 0) found.first = described(bits, got, expected);
        }
#pragma omp critical
        {
            if (total.count == 0) total.first = found.first;
            total.count += found.count;
        }
    }
    return total;
}

std::vector<Task> tasks() {
    std::vector<Task> list;
    for (const test::FunctionUnderTest& function : test::functions_under_test) {
        list.push_back({"fp32 " + std::string(function.name), "operands",
                        "long double, 800 bits where that is near a tie",
                        [&function, judge = test::FunctionOracle(function.name)](int chunk) {
                            return check_chunk(function, judge, chunk);
                        }});
    }
    return list;
}

}  // namespace
}  // namespace ulp::sweep

int main(int argc, char** argv) {
    return ulp::sweep::run_program("sweep_functions", "all 2^32 operands of the fp32 functions", ulp::sweep::tasks(),
                                   argc, argv);
}
