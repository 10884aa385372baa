// A billion FP4 blocks of each arithmetic by the kernels of this processor against the definition: an hour each on one
// core. ULPLAB_BLOCKS says how many; -sc=KEY takes one arithmetic alone.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/vector/dispatch.hpp"
#include "tests/softfloat/matrix_units/fp4_blocks.hpp"

TEST_CASE("a billion FP4 blocks of each arithmetic have the definition's bits") {
    constexpr std::uint64_t report_every = 2048;  // products
    const char* const wanted = std::getenv("ULPLAB_BLOCKS");
    const std::int64_t most = wanted == nullptr ? 1'000'000'000 : std::atoll(wanted);
    for (const char* key : {"sm_100:tcgen05.mxf4.e2m1.fp32", "sm_100:tcgen05.mxf4_block16.e2m1.fp32",
                            "sm_100:tcgen05.nvf4.e2m1.fp32", "sm_120:mma.nvf4_block32.e2m1.fp32"}) {
        SUBCASE(key) {
            const auto model = ulp::unit_model<ulp::BlockScaledModel>(key);
            const auto& kernels = ulp::kernels_of<ulp::gemm_kernels::Kernels>(ulp::simd_choice());
            std::int64_t differ = 0;
            std::int64_t blocks = 0;
            for (std::uint64_t seed = 0; blocks < most; ++seed, blocks += 64 * 128 * 256 / 64) {
                ulp::test::Fp4Case one(model, {64, 128, 256}, seed);
                differ += one.differences(kernels, one.plain());
                if (seed % report_every == report_every - 1)
                    MESSAGE(std::string(key) << ": " << blocks << " blocks, " << differ << " elements differ");
            }
            MESSAGE(std::string(key) << ": " << blocks << " blocks, " << differ << " elements differ");
            CHECK(differ == 0);
        }
    }
}
