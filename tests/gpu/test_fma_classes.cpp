// The classes of fp16's fma are all there, its integer form is the definition, and a wrong one is found.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "gpu/untried/fma_classes.hpp"
#include "gpu/untried/functions.hpp"

using namespace ulp::gpu;
namespace classes = ulp::gpu::fma_classes;

TEST_CASE("every unordered pair of magnitudes has one number") {
    CHECK(classes::classes == (std::uint64_t{1} << 45) + (std::uint64_t{1} << 30));
    // Of a triangle of all pairs: each row's ends, and the number that a pair has by counting.
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    const auto look = [&](std::uint64_t index) {
        const auto pair = classes::pair_of(index);
        const std::uint32_t x = pair.a & 0x7FFF;
        const std::uint32_t y = pair.b & 0x7FFF;
        return seen.insert({std::max(x, y), std::min(x, y)}).second;
    };
    int twice = 0;
    for (std::uint64_t row = 0; row < classes::magnitudes / 2; row += 1023) {
        const std::uint64_t first = row * (classes::magnitudes + 1);
        for (std::uint64_t column = 0; column <= classes::magnitudes; ++column) twice += look(first + column) ? 0 : 1;
        // Two rows of the triangle, whole.
        const auto longer = static_cast<std::uint32_t>(classes::magnitudes - 1 - row);
        CHECK(seen.contains({longer, 0}));
        CHECK(seen.contains({longer, longer}));
        CHECK(seen.contains({static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row)}));
    }
    CHECK(twice == 0);
    CHECK(seen.size() == 17 * (classes::magnitudes + 1));
}

TEST_CASE("fma in integers is the definition") {
    // Every c with pairs of each kind: subnormal, tiny, ordinary, at overflow's edge, infinite, NaN, zero.
    const std::array<std::pair<std::uint32_t, std::uint32_t>, 12> pairs{{{0x0001, 0x0001},
                                                                         {0x0000, 0x7C00},
                                                                         {0x0000, 0x8001},
                                                                         {0x3C00, 0x3C01},
                                                                         {0x5BFF, 0x5C00},
                                                                         {0xDC00, 0x5C00},
                                                                         {0x7BFF, 0x4000},
                                                                         {0x7BFF, 0x7BFF},
                                                                         {0x7C00, 0xBC00},
                                                                         {0x7E01, 0x3C00},
                                                                         {0x1234, 0x9ABC},
                                                                         {0x03FF, 0x8FFF}}};
    for (const auto& pair : pairs) {
        const std::uint32_t a = pair.first, b = pair.second;
        CAPTURE(a);
        CAPTURE(b);
        const auto product = classes::product_of(a, b);
        int differences = 0;
        for (std::uint32_t c = 0; c < 65536; ++c) {
            differences += classes::fma(product, c) == fma_by_definition(a, b, c) ? 0 : 1;
        }
        CHECK(differences == 0);
    }
    int differences = 0;
    for (std::uint64_t i = 0; i < 2'000'000; ++i) {
        const std::uint64_t random = mix(i);
        const auto code = [&](int shift) { return static_cast<std::uint32_t>(random >> shift & 0xFFFF); };
        const auto product = classes::product_of(code(0), code(16));
        differences += classes::fma(product, code(32)) == fma_by_definition(code(0), code(16), code(32)) ? 0 : 1;
    }
    CHECK(differences == 0);
}

TEST_CASE("a range asked at once and in parts has one digest, and a wrong fma is found with its place") {
    const std::uint64_t first = classes::pairs - 40'000'001;
    const FmaAnswers whole = ask_fma(fma_by_definition, first, 3);
    CHECK(whole.differ == 0);
    const FmaAnswers one = ask_fma(fma_by_definition, first, 1);
    CHECK(whole.digest == one.digest + ask_fma(fma_by_definition, first + 1, 2).digest);
    const std::uint64_t wrong_class = (first + 2) << 16 | 0x1234;
    const auto pair = classes::pair_of(first + 2);
    const FmaAnswers wrong = ask_fma(
        [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
            const bool here = a == pair.a && b == pair.b && c == (0x1234 ^ pair.c_sign);
            return fma_by_definition(a, b, c) ^ (here ? 1U : 0U);
        },
        first, 3);
    CHECK(wrong.differ == 1);
    CHECK(wrong.first == wrong_class);
    CHECK(wrong.digest != whole.digest);
    CHECK(ask_fma(*open_software_device(90), first, 1) == one);
}
