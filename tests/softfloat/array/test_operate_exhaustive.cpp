// Every pair of fp16 and of bf16 numbers through the vectorised operations, against a definition that shares nothing
// with them: the processor's own fp16 arithmetic, and for bf16 (and where there is no such processor) the scalar
// operators. Some ten seconds an operation with the first, half a minute with the second.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "softfloat/array/array.hpp"

namespace {

using ulp::Simd;
using ulp::array::Operation;

/// Pairs (a, b) whose results differ between two sets of instructions, for all 2^32 pairs.
template <class Real>
std::uint64_t mismatches(Operation operation, Simd simd, Simd reference) {
    constexpr std::size_t codes = 65536;
    std::vector<Real> a(codes);
    std::vector<Real> b(codes);
    std::vector<Real> results(codes);
    std::vector<Real> expected(codes);
    for (std::size_t i = 0; i < codes; ++i) b[i] = Real::from_bits(static_cast<std::uint16_t>(i));
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < codes; ++i) {
        std::fill(a.begin(), a.end(), b[i]);
        const ulp::array::Operands operands{a.data(), b.data()};
        ulp::array::operate_words(Real::format, operation, operands, results.data(), codes, {}, simd);
        ulp::array::operate_words(Real::format, operation, operands, expected.data(), codes, {}, reference);
        for (std::size_t j = 0; j < codes; ++j) count += results[j].bits() != expected[j].bits() ? 1 : 0;
    }
    return count;
}

template <class Real>
void check_every_pair(Simd reference) {
    for (const Simd simd : {Simd::avx2, Simd::avx512}) {
        if (simd > ulp::supported_simd().back()) continue;
        for (const Operation operation : {ulp::array::op_add, ulp::array::op_multiply, ulp::array::op_divide}) {
            const std::uint64_t count = mismatches<Real>(operation, simd, reference);
            MESSAGE(name_of(simd), " against ", name_of(reference), ", operation ", operation, ": 4294967296 pairs, ",
                    count, " differ");
            CHECK(count == 0);
        }
    }
}

}  // namespace

TEST_CASE("every pair of halves: sums, products and quotients, against the processor's own") {
    const bool native = ulp::supported_simd().back() >= Simd::avx512_fp16;
    check_every_pair<ulp::fp16>(native ? Simd::avx512_fp16 : Simd::portable);
}

TEST_CASE("every pair of bf16 numbers: sums, products and quotients, against the scalar operators") {
    check_every_pair<ulp::bf16>(Simd::portable);
}
