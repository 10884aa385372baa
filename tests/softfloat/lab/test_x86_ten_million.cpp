// tdpbf16ps of this processor against its row on ten million dot products of any bits. Takes some ten seconds of a
// core.
#include <doctest/doctest.h>

#include <array>
#include <iostream>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/lab/x86_units.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace {

using ulp::DataClass;

struct Counts {
    std::int64_t dots = 0, different = 0, numbers = 0;
};

/// A tile of 16 x 16 dot products. 32 products of any bits are nearly always a NaN: `nonzero` of them are not zero.
Counts compare_tile(const ulp::TensorCoreModel& model, std::uint64_t seed, std::size_t nonzero) {
    auto a = ulp::random_codes(ulp::formats::bf16, DataClass::full_range, 512, 3 * seed);
    auto b = ulp::random_codes(ulp::formats::bf16, DataClass::full_range, 512, 3 * seed + 1);
    const auto c = ulp::random_codes(ulp::formats::fp32, DataClass::full_range, 256, 3 * seed + 2);
    for (std::size_t i = 0; i < a.size(); ++i) {
        if ((i * 5 + seed) % 32 >= nonzero) a[i] = b[i] = 0;  // the same k in rows and columns
    }
    const std::vector<std::uint16_t> x(a.begin(), a.end());
    const std::vector<std::uint16_t> y(b.begin(), b.end());
    std::array<std::uint32_t, 256> d{};
    ulp::x86::tdpbf16ps(x.data(), y.data(), c.data(), d.data());
    Counts counts;
    for (std::size_t i = 0; i < 256; ++i) {
        const std::uint32_t expected = ulp::chain_dot(model, &a[i / 16 * 32], &b[i % 16 * 32], c[i], 32);
        ++counts.dots;
        counts.different += expected != d[i] ? 1 : 0;
        counts.numbers += ulp::is_nan(ulp::formats::fp32, expected) ? 0 : 1;
    }
    return counts;
}

}  // namespace

TEST_CASE("tdpbf16ps computes what its row says on ten million dot products of any bits") {
    if (!ulp::x86::has_tdpbf16ps()) {
        std::cout << "skipped: no AMX with bf16 on this processor\n";
        return;
    }
    const ulp::TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("x86:tdpbf16ps.bf16.fp32");
    constexpr std::array<std::size_t, 6> nonzeros{1, 2, 3, 4, 8, 32};
    Counts all;
    for (std::uint64_t tile = 0; all.dots < 10'000'000; ++tile) {
        const Counts counts = compare_tile(model, 100'000 + tile, nonzeros[tile % nonzeros.size()]);
        all.dots += counts.dots;
        all.different += counts.different;
        all.numbers += counts.numbers;
    }
    CHECK(all.different == 0);
    CHECK(all.numbers > 4'000'000);
    std::cout << all.dots << " dot products compared, " << all.numbers << " of them numbers\n";
}
