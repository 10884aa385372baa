// Orders of whole products, and the integer instructions.
#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <stdexcept>
#include <vector>

#include "softfloat/tensor_core/chain_dot.hpp"
#include "softfloat/tensor_core/integer_models.hpp"
#include "softfloat/tensor_core/models.hpp"
#include "softfloat/tensor_core/product.hpp"
#include "tests/softfloat/tensor_core/operands.hpp"

namespace {

using ulp::TensorCoreModel;
using ulp::test::DataClass;

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// A 1 x 1 product of k elements with one row and one column.
struct Dot {
    std::vector<float> a, b;
    Dot(const TensorCoreModel& model, std::int64_t k, std::uint64_t seed) {
        for (const auto code : ulp::test::random_codes(model.a_format, DataClass::ordinary, k, seed)) {
            a.push_back(ulp::carrier_of(model.a_format, code));
        }
        for (const auto code : ulp::test::random_codes(model.b_format, DataClass::ordinary, k, seed + 1)) {
            b.push_back(ulp::carrier_of(model.b_format, code));
        }
    }
    /// Instructions over k in [first, last), from c.
    [[nodiscard]] float chain(const TensorCoreModel& model, std::size_t first, std::size_t last, float c) const {
        std::vector<std::uint32_t> x, y;
        for (std::size_t k = first; k < last; ++k) {
            x.push_back(ulp::operand_code(model.a_format, a[k]));
            y.push_back(ulp::operand_code(model.b_format, b[k]));
        }
        const auto k = static_cast<std::int64_t>(x.size());
        return std::bit_cast<float>(ulp::chain_dot(model, x.data(), y.data(), bits(c), k));
    }
    [[nodiscard]] float product(const TensorCoreModel& model, const ulp::ProductOrder& order, float c) const {
        float d = 0;
        const auto k = static_cast<std::int64_t>(a.size());
        ulp::soft_product(model, order, {1, 1, k, {a.data(), k, 1}, {b.data(), 1, 1}, {&c, 1, 1}, {&d, 1, 1}});
        return d;
    }
};

}  // namespace

TEST_CASE("pieces of a split k are summed apart and added in ascending order") {
    const TensorCoreModel& model = ulp::find_model("sm_90:mma.fp16.fp32").model;
    const Dot dot(model, 100, 5);
    // 7 instructions in 3 pieces: 48, 48 and 4 products.
    const float expected =
        (dot.chain(model, 0, 48, 0.75F) + dot.chain(model, 48, 96, 0)) + dot.chain(model, 96, 100, 0);
    CHECK(bits(dot.product(model, {.split_k = 3}, 0.75F)) == bits(expected));
    CHECK(bits(dot.product(model, {.split_k = 1}, 0.75F)) == bits(dot.chain(model, 0, 100, 0.75F)));
    CHECK(bits(expected) != bits(dot.chain(model, 0, 100, 0.75F)));
    CHECK(bits(dot.product(model, {.split_k = 50}, 0.75F)) == bits(dot.product(model, {.split_k = 7}, 0.75F)));
}

TEST_CASE("promotion adds the running sum in fp32 at its interval") {
    const TensorCoreModel& model = ulp::find_model("sm_90:wgmma.e4m3.fp32").model;
    const Dot dot(model, 300, 6);
    float expected = 0.5F;
    for (const std::size_t first : {0U, 128U, 256U}) {
        expected += dot.chain(model, first, first == 256 ? 300 : first + 128, 0);
    }
    CHECK(bits(dot.product(model, {.promote_every = 128}, 0.5F)) == bits(expected));
    CHECK(bits(expected) != bits(dot.product(model, {}, 0.5F)));
}

TEST_CASE("the epilogue is one fused multiply-add in fp32") {
    const TensorCoreModel& model = ulp::find_model("sm_90:mma.fp16.fp32").model;
    const Dot dot(model, 64, 7);
    const float sum = dot.chain(model, 0, 64, 0);
    const float scaled = 0.3F * 1.7F;
    const double exact = double{1.1F} * sum;  // exact in fp64
    const auto expected = static_cast<float>(exact + scaled);
    const ulp::ProductOrder order{.epilogue = ulp::LinearEpilogue{1.1F, 0.3F}};
    CHECK(bits(dot.product(model, order, 1.7F)) == bits(expected));
    CHECK(bits(dot.product(model, {.epilogue = ulp::LinearEpilogue{1, 0}}, 1.7F)) == bits(sum));
}

TEST_CASE("orders that fit no instruction are refused") {
    const TensorCoreModel& model = ulp::find_model("sm_90:mma.fp16.fp32").model;
    const Dot dot(model, 32, 8);
    CHECK_THROWS_WITH_AS((void)dot.product(model, {.promote_every = 100}, 0), doctest::Contains("multiple of 16"),
                         std::invalid_argument);
    CHECK_THROWS_AS((void)dot.product(model, {.split_k = 0}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)dot.product(ulp::find_model("sm_80:mma.fp64.fp64").model, {}, 0), std::invalid_argument);
}

TEST_CASE("integer sums wrap, or are clamped after each instruction") {
    const std::vector<int> a(64, 127);
    const std::vector<int> b(64, 127);
    const std::int32_t most = std::numeric_limits<std::int32_t>::max();
    const auto& wraps = ulp::find_integer_model("sm_80:mma.s8.s32")->model;
    const auto& clamps = ulp::find_integer_model("sm_80:mma.s8.s32.satfinite")->model;
    CHECK(ulp::integer_dot(wraps, a.data(), b.data(), 0, 64) == 64 * 127 * 127);
    CHECK(ulp::integer_dot(wraps, a.data(), b.data(), most, 1) ==
          std::numeric_limits<std::int32_t>::min() + 127 * 127 - 1);
    CHECK(ulp::integer_dot(clamps, a.data(), b.data(), most, 1) == most);
    // Clamped at the top after 32 products, then brought down by the next 32.
    std::vector<int> down = b;
    for (std::size_t k = 32; k < 64; ++k) down[k] = -127;
    CHECK(ulp::integer_dot(clamps, a.data(), down.data(), most - 5, 64) == most - 32 * 127 * 127);
    CHECK(ulp::integer_dot(wraps, a.data(), down.data(), most - 5, 64) == most - 5);
}

TEST_CASE("single bits meet by xor and by and") {
    const std::vector<int> a{1, 1, 0, 0};
    const std::vector<int> b{1, 0, 1, 0};
    CHECK(ulp::integer_dot(ulp::find_integer_model("sm_80:mma.b1_xor.s32")->model, a.data(), b.data(), 10, 4) == 12);
    CHECK(ulp::integer_dot(ulp::find_integer_model("sm_80:mma.b1_and.s32")->model, a.data(), b.data(), 10, 4) == 11);
    CHECK(ulp::find_integer_model("sm_75:mma.b1_and.s32") == nullptr);
}

TEST_CASE("fp64 instructions are chains of fused multiply-adds") {
    const TensorCoreModel& model = ulp::find_model("sm_80:mma.fp64.fp64").model;
    const std::vector<double> a{1.0, 0x1p-53, 0x1p-53};
    const std::vector<double> b{1.0, 1.0, 1.0};
    double d = 0;
    ulp::fp64_gemm(model, {1, 1, 3, {a.data(), 3, 1}, {b.data(), 1, 1}, {}, {&d, 1, 1}});
    CHECK(d == 1.0);  // each half of the last place is lost on its own
    const std::vector<double> reversed{0x1p-53, 0x1p-53, 1.0};
    ulp::fp64_gemm(model, {1, 1, 3, {reversed.data(), 3, 1}, {b.data(), 1, 1}, {}, {&d, 1, 1}});
    CHECK(d == 1.0 + 0x1p-52);
}
