// Every fp32 operand through the vectorised functions, to nearest even, against the scalar functions, which
// sweep_functions compares with an independent judge. About a minute of a core a function.
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "softfloat/array/functions.hpp"
#include "softfloat/functions/cr.hpp"

namespace {

using ulp::array::Function;

/// The sum over parts of 2^20 operands.
std::uint64_t mismatches(Function function, float (*scalar)(float)) {
    constexpr std::int64_t part = 1 << 20;
    std::uint64_t count = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : count)
    for (std::int64_t first = 0; first < std::int64_t{1} << 32; first += part) {
        std::vector<std::uint32_t> operands(part);
        std::vector<std::uint32_t> results(part);
        for (std::int64_t i = 0; i < part; ++i)
            operands[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(first + i);
        ulp::array::evaluate_words(ulp::formats::fp32, function, operands.data(), results.data(), operands.size(), {},
                                   ulp::simd_choice());
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const float expected = scalar(std::bit_cast<float>(operands[i]));
            count += std::bit_cast<std::uint32_t>(expected) != results[i] ? 1 : 0;
        }
    }
    return count;
}

void check(std::string_view name, Function function, float (*scalar)(float)) {
    const std::uint64_t count = mismatches(function, scalar);
    MESSAGE(name, ": 4294967296 operands, ", count, " differ");
    CHECK(count == 0);
}

}  // namespace

#define ULPLAB_FUNCTION(name, Definition) \
    TEST_CASE("every fp32 operand: " #name) { check(#name, Function::name, ulp::cr::name); }
ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION
