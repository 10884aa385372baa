// Products of FP4 blocks by every path against the definition: scales that differ little, so that an instruction is one
// exact sum, and scales that do not; addends that alignment cuts; special values.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/fp4_operands.hpp"
#include "softfloat/matrix_units/gemm_kernels/make_integer_kernels.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/vector/dispatch.hpp"
#include "softfloat/vector/vec_portable.hpp"
#include "tests/softfloat/matrix_units/fp4_blocks.hpp"

namespace {

using ulp::BlockScaledModel;
using ulp::gemm_kernels::Fp4Operands;
using ulp::gemm_kernels::IntegerKernels;
using ulp::gemm_kernels::Kernels;
using ulp::test::Fp4Case;

/// The portable kit with the products of bytes that AVX512-VNNI has, so that any processor runs their kernels.
struct WithBytes : ulp::vec::Portable {
    static Int add_byte_products(Int sum, Int a, Int b) {
        for (int lane = 0; lane < lanes; ++lane) {
            for (int i = 0; i < 4; ++i) {
                const auto x = static_cast<std::uint8_t>(a[lane] >> (8 * i));
                const auto y = static_cast<std::int8_t>(b[lane] >> (8 * i));
                sum[lane] += static_cast<std::uint32_t>(x * y);
            }
        }
        return sum;
    }
};

std::vector<Kernels> fp4_kernel_sets() {
    std::vector<Kernels> sets;
    for (const ulp::Simd simd : ulp::supported_simd()) sets.push_back(ulp::kernels_of<Kernels>(simd));
    static constexpr IntegerKernels with_bytes = ulp::gemm_kernels::make_integer_kernels<WithBytes>();
    sets.push_back(Kernels::portable);
    sets.back().integers = &with_bytes;
    sets.back().name = "portable with bytes";
    return sets;
}

constexpr const char* fp4_keys[] = {"sm_100:tcgen05.mxf4.e2m1.fp32", "sm_100:tcgen05.mxf4_block16.e2m1.fp32",
                                    "sm_100:tcgen05.nvf4.e2m1.fp32", "sm_120:mma.nvf4_block32.e2m1.fp32"};

}  // namespace

TEST_CASE("a million FP4 blocks by every set of instructions have the definition's bits") {
    const auto sets = fp4_kernel_sets();
    for (const char* key : fp4_keys) {
        const BlockScaledModel model = ulp::unit_model<BlockScaledModel>(key);
        std::int64_t blocks = 0;
        for (std::uint64_t seed = 0; blocks < 250'000; ++seed) {
            Fp4Case one(model, {37, 70, 256}, seed);
            const std::vector<float> plain = one.plain();
            for (const Kernels& kernels : sets) {
                CAPTURE(std::string(key) + ", " + kernels.name + ", seed " + std::to_string(seed));
                CHECK(one.differences(kernels, plain) == 0);
            }
            blocks += 37 * 70 * 256 / 64;
        }
    }
}

TEST_CASE("FP4 instructions are folded where the scales of each line lie near each other, by bytes where they can be") {
    const auto folding = [](const char* key, const Kernels& kernels, int spread) {
        const BlockScaledModel model = ulp::unit_model<BlockScaledModel>(key);
        const std::int64_t count = 64 / model.scale_block;
        std::vector<float> scales(static_cast<std::size_t>(count), 1.0F);
        scales[0] = std::ldexp(1.0F, spread);
        const ulp::MatrixView view(scales.data(), 1, count);
        auto lines = ulp::gemm_kernels::scales_of(model, view, 1, count, count, true);
        lines = ulp::gemm_kernels::for_terms(lines, 1, model.scale_block / 16);
        return ulp::gemm_kernels::fp4_folding(*kernels.integers, model, lines, lines);
    };
    const auto sets = fp4_kernel_sets();
    const Kernels& bytes = sets.back();
    const Kernels& widest = sets[sets.size() - 2];
    for (const char* key : fp4_keys) {
        const bool powers = std::string(key).find("mxf4") != std::string::npos;
        CAPTURE(key);
        CHECK(folding(key, bytes, 3).operands == (powers ? Fp4Operands::bytes : Fp4Operands::bytes_by_terms));
        CHECK(folding(key, bytes, 4).operands == (powers ? Fp4Operands::bytes_by_terms : Fp4Operands::words));
        CHECK(folding(key, bytes, 8).operands == Fp4Operands::words);
        CHECK(folding(key, widest, 5).folded[0] == 1);
        CHECK(folding(key, bytes, powers ? 8 : 5).folded[0] == 1);
        CHECK(folding(key, bytes, powers ? 9 : 6).folded[0] == 0);
    }
}

TEST_CASE("a folded FP4 product with other fraction bits, or another scale, differs from the definition") {
    for (const char* key : fp4_keys) {
        CAPTURE(key);
        const BlockScaledModel model = ulp::unit_model<BlockScaledModel>(key);
        BlockScaledModel other = model;
        other.unscaled.fraction_bits = 20;
        for (const Kernels& kernels : fp4_kernel_sets()) {
            Fp4Case one(model, {8, 70, 256}, 4);  // a case of ordinary scales, with C
            const std::vector<float> plain = one.plain();
            one.model = other;
            CHECK(one.differences(kernels, plain) > 0);
            one.model = model;
            one.scales_of_a[0] *= 2;
            CHECK(one.differences(kernels, plain) > 0);
        }
    }
}
