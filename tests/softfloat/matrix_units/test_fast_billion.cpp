// The fast products against the plain ones on a billion products of every class of data. Takes about a minute a core.
#include <doctest/doctest.h>

#include <bit>
#include <iostream>
#include <string>
#include <vector>

#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/models.hpp"
#include "tests/softfloat/matrix_units/operands.hpp"

namespace {

std::vector<float> floats(const ulp::FloatFormat& format, ulp::test::DataClass data, std::int64_t count,
                          std::uint64_t seed) {
    std::vector<float> values;
    for (const auto code : ulp::test::random_codes(format, data, count, seed))
        values.push_back(ulp::in_fp32_container(format, code));
    return values;
}

}  // namespace

TEST_CASE("fast and plain products agree on a billion products of mixed classes") {
    constexpr std::int64_t m = 64, n = 128, k = 256;
    const char* const keys[] = {"sm_90:mma.fp16.fp32",     "sm_90:mma.fp16.fp16", "sm_90:mma.bf16.fp32",
                                "sm_90:mma.tf32.fp32",     "sm_80:mma.fp16.fp32", "sm_70:mma.fp16.fp32",
                                "sm_90:wgmma.e4m3.fp32",   "sm_89:mma.e5m2.fp32", "sm_90:mma.e4m3.fp32",
                                "sm_100:tcgen05.e4m3.fp32"};
    std::int64_t products = 0;
    std::int64_t different = 0;
    std::size_t turn = 0;
    for (std::uint64_t seed = 1; products < 1'000'000'000; ++seed) {
        for (const char* key : keys) {
            const ulp::TensorCoreModel& model = ulp::find_model(key).model;
            const auto data = ulp::test::all_classes[turn++ % std::size(ulp::test::all_classes)];
            const auto a = floats(model.a_format, data, m * k, 3 * seed);
            const auto b = floats(model.b_format, data, k * n, 3 * seed + 1);
            const auto c = floats(model.accumulator, data, m * n, 3 * seed + 2);
            std::vector<float> plain(c.size()), fast(c.size());
            ulp::GemmProblem p{{a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}, {plain.data(), m, n}};
            ulp::soft_gemm_plain(model, p);
            p.d.data = fast.data();
            ulp::soft_gemm(model, p);
            for (std::size_t i = 0; i < fast.size(); ++i) {
                different += std::bit_cast<std::uint32_t>(fast[i]) != std::bit_cast<std::uint32_t>(plain[i]) ? 1 : 0;
            }
            products += m * n * k;
        }
    }
    CHECK(different == 0);
    std::cout << products << " products compared\n";
}
