// The matrix units of this processor against their rows of the table, on random blocks of every class of data.
#include <doctest/doctest.h>

#include <array>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/lab/x86_units.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace {

using ulp::DataClass;

std::vector<std::uint16_t> narrow(const std::vector<std::uint32_t>& codes) { return {codes.begin(), codes.end()}; }

struct Operands {
    std::vector<std::uint32_t> a, b, c;
    Operands(DataClass data, std::int64_t products, std::int64_t sums, std::uint64_t seed)
        : a(ulp::random_codes(ulp::formats::bf16, data, products, seed)),
          b(ulp::random_codes(ulp::formats::bf16, data, products, seed + 1)),
          c(ulp::random_codes(ulp::formats::fp32, data, sums, seed + 2)) {}
};

/// Elements of a tile on which unit and model differ.
int tile_differences(const ulp::TensorCoreModel& model, const Operands& in) {
    std::array<std::uint32_t, 256> d{};
    ulp::x86::tdpbf16ps(narrow(in.a).data(), narrow(in.b).data(), in.c.data(), d.data());
    int different = 0;
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t j = 0; j < 16; ++j) {
            const std::uint32_t expected =
                ulp::chain_dot(model, in.a.data() + 32 * i, in.b.data() + 32 * j, in.c[16 * i + j], 32);
            if (expected == d[16 * i + j]) continue;
            if (different++ == 0) MESSAGE("unit " << d[16 * i + j] << ", model " << expected);
        }
    }
    return different;
}

}  // namespace

// 10 million blocks: 625,000 vectors of 16.
TEST_CASE("vdpbf16ps computes what its row says") {
    if (!ulp::x86::has_vdpbf16ps()) {
        std::cout << "skipped: no AVX512-BF16 on this processor\n";
        return;
    }
    const ulp::TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("x86:vdpbf16ps.bf16.fp32");
    for (const DataClass data : ulp::all_classes) {
        CAPTURE(std::string(ulp::name_of(data)));
        const int vectors = data == DataClass::full_range ? 400'000 : 37'500;
        int different = 0;
        for (int i = 0; i < vectors; ++i) {
            const Operands in(data, 32, 16, 3 * static_cast<std::uint64_t>(i));
            std::array<std::uint32_t, 16> d{};
            ulp::x86::vdpbf16ps(narrow(in.a).data(), narrow(in.b).data(), in.c.data(), d.data());
            for (std::size_t lane = 0; lane < 16; ++lane) {
                const std::uint32_t expected =
                    ulp::chain_dot(model, in.a.data() + 2 * lane, in.b.data() + 2 * lane, in.c[lane], 2);
                different += expected != d[lane] ? 1 : 0;
            }
        }
        CHECK(different == 0);
    }
}

TEST_CASE("a model with the pairs in ascending order is caught by vdpbf16ps") {
    if (!ulp::x86::has_vdpbf16ps()) {
        std::cout << "skipped: no AVX512-BF16 on this processor\n";
        return;
    }
    ulp::TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>("x86:vdpbf16ps.bf16.fp32");
    model.summation = ulp::Summation::fma_chain;
    int different = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        const Operands in(DataClass::ordinary, 32, 16, 3 * i);
        std::array<std::uint32_t, 16> d{};
        ulp::x86::vdpbf16ps(narrow(in.a).data(), narrow(in.b).data(), in.c.data(), d.data());
        for (std::size_t lane = 0; lane < 16; ++lane) {
            different += ulp::chain_dot(model, &in.a[2 * lane], &in.b[2 * lane], in.c[lane], 2) != d[lane] ? 1 : 0;
        }
    }
    CHECK(different > 100);
}

TEST_CASE("tdpbf16ps computes what its row says") {
    if (!ulp::x86::has_tdpbf16ps()) {
        std::cout << "skipped: no AMX with bf16 on this processor\n";
        return;
    }
    const ulp::TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("x86:tdpbf16ps.bf16.fp32");
    for (const DataClass data : ulp::all_classes) {
        CAPTURE(std::string(ulp::name_of(data)));
        int different = 0;
        for (std::uint64_t tile = 0; tile < 500; ++tile) {
            Operands in(data, 512, 256, 3 * tile);
            if (data == DataClass::full_range) {  // 32 products of any bits are nearly always a NaN: thin them out
                for (std::size_t i = 0; i < in.a.size(); ++i) in.a[i] = i % 8 == 0 ? in.a[i] : 0;
            }
            different += tile_differences(model, in);
        }
        CHECK(different == 0);
    }
}

TEST_CASE("tdpbssd adds bytes modulo 2^32") {
    if (!ulp::x86::has_tdpbssd()) {
        std::cout << "skipped: no AMX with int8 on this processor\n";
        return;
    }
    std::vector<std::int8_t> a(1024), b(1024);
    std::array<std::int32_t, 256> c{}, d{};
    for (std::size_t i = 0; i < 1024; ++i) {
        a[i] = static_cast<std::int8_t>(ulp::random_word(1, i));
        b[i] = static_cast<std::int8_t>(ulp::random_word(2, i));
    }
    for (std::size_t i = 0; i < 256; ++i) c[i] = std::numeric_limits<std::int32_t>::max() - static_cast<int>(i);
    ulp::x86::tdpbssd(a.data(), b.data(), c.data(), d.data());
    int different = 0;
    for (std::size_t i = 0; i < 256; ++i) {
        std::int64_t sum = c[i];
        for (std::size_t k = 0; k < 64; ++k) sum += a[i / 16 * 64 + k] * b[i % 16 * 64 + k];
        different += static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)) != d[i] ? 1 : 0;
    }
    CHECK(different == 0);
}
