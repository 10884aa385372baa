// Orders of whole products, and the integer instructions.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/round.hpp"
#include "tests/softfloat/matrix_units/bits.hpp"

namespace {

using ulp::DataClass;
using ulp::TensorCoreModel;

/// A 1 x 1 product of k elements with one row and one column.
struct RandomDot {
    std::vector<float> a, b;
    RandomDot(const TensorCoreModel& model, std::int64_t k, std::uint64_t seed) {
        for (const auto code : ulp::random_codes(model.a_format, DataClass::ordinary, k, seed)) {
            a.push_back(ulp::in_fp32_container(model.a_format, code));
        }
        for (const auto code : ulp::random_codes(model.b_format, DataClass::ordinary, k, seed + 1)) {
            b.push_back(ulp::in_fp32_container(model.b_format, code));
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
        ulp::soft_product(model, order, {{a.data(), 1, k}, {b.data(), k, 1}, {&c, 1, 1}, {&d, 1, 1}});
        return d;
    }
};

}  // namespace

TEST_CASE("pieces of a split k are summed apart and added in ascending order") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    const RandomDot dot(model, 100, 5);
    // 7 instructions in 3 pieces: 48, 48 and 4 products.
    const float expected =
        (dot.chain(model, 0, 48, 0.75F) + dot.chain(model, 48, 96, 0)) + dot.chain(model, 96, 100, 0);
    CHECK(bits(dot.product(model, {.split_k = 3}, 0.75F)) == bits(expected));
    CHECK(bits(dot.product(model, {.split_k = 1}, 0.75F)) == bits(dot.chain(model, 0, 100, 0.75F)));
    CHECK(bits(expected) != bits(dot.chain(model, 0, 100, 0.75F)));
    CHECK(bits(dot.product(model, {.split_k = 50}, 0.75F)) == bits(dot.product(model, {.split_k = 7}, 0.75F)));
}

TEST_CASE("pieces of a length of their own begin with what is over whole tiles") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    const RandomDot dot(model, 100, 5);
    // 40 = 8 + 2 x 16, twice; 20 = 4 + 16.
    const auto piece = [&](std::size_t first, std::size_t rest, std::size_t last, float c) {
        return dot.chain(model, first + rest, last, dot.chain(model, first, first + rest, c));
    };
    const float expected = (piece(0, 8, 40, 0.75F) + piece(40, 8, 80, 0)) + piece(80, 4, 100, 0);
    CHECK(bits(dot.product(model, {.piece_k = 40, .tile_k = 16}, 0.75F)) == bits(expected));
    int different = 0;  // in groups of 16 from the front many a sum comes out the same
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const RandomDot other(model, 100, seed);
        const float plain = other.product(model, {.piece_k = 40}, 0.75F);
        different += bits(plain) != bits(other.product(model, {.piece_k = 40, .tile_k = 16}, 0.75F)) ? 1 : 0;
    }
    CHECK(different > 0);
    CHECK(bits(dot.product(model, {.piece_k = 100}, 0.75F)) == bits(dot.chain(model, 0, 100, 0.75F)));
    CHECK(bits(dot.product(model, {.tile_k = 16}, 0.75F)) == bits(piece(0, 4, 100, 0.75F)));
    CHECK_THROWS_AS((void)dot.product(model, {.piece_k = -1}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)dot.product(model, {.piece_k = 32, .slice_k = 16}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)dot.product(model, {.tile_k = 16, .promote_every = 32}, 0), std::invalid_argument);
}

TEST_CASE("sums of pieces may be added in the accumulator's format") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp16");
    // 2048 from the first piece, 1, 1 and 1 from the others: every 1 is half a unit and goes to the even 2048.
    std::vector<float> a(64);
    a[0] = 2048;
    a[16] = a[32] = a[48] = 1;
    const std::vector<float> b(64, 1.0F);
    float d = 0;
    const ulp::GemmProblem problem{{a.data(), 1, 64}, {b.data(), 64, 1}, {}, {&d, 1, 1}};
    ulp::soft_product(model, {.split_k = 4, .sum_format = ulp::formats::fp16}, problem);
    CHECK(d == 2048);
    ulp::soft_product(model, {.split_k = 4}, problem);
    CHECK(d == 2052);
}

TEST_CASE("partial sums are held in the formats of their order, and added in its direction") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.bf16.fp32");
    const RandomDot dot(model, 112, 9);
    const auto bf16 = [](float x) { return ulp::round_to(ulp::formats::bf16, x); };
    std::vector<float> piece;
    for (std::size_t i = 0; i < 112; i += 16) piece.push_back(dot.chain(model, i, i + 16, i == 0 ? 0.75F : 0));
    const auto given = [&](ulp::ProductOrder order) {
        order.split_k = 7;
        return bits(dot.product(model, order, 0.75F));
    };
    float sums = bf16(piece[0]), wide_total = sums, in_place = sums, backwards = piece[6];
    for (std::size_t i = 1; i < 7; ++i) {
        sums = bf16(sums + bf16(piece[i]));
        wide_total += bf16(piece[i]);
        in_place = bf16(in_place + piece[i]);
        backwards += piece[6 - i];
    }
    CHECK(given({.sum_format = ulp::formats::bf16}) == bits(sums));
    CHECK(given({.sum_format = ulp::formats::bf16, .total_format = ulp::formats::fp32}) == bits(wide_total));
    CHECK(given({.total_format = ulp::formats::bf16}) == bits(in_place));
    CHECK(given({.reduction = ulp::SumOrder::descending}) == bits(backwards));
    const float pairs = ((piece[0] + piece[1]) + (piece[2] + piece[3])) + ((piece[4] + piece[5]) + piece[6]);
    CHECK(given({.reduction = ulp::SumOrder::pairwise}) == bits(pairs));
    CHECK(ulp::name_of(ulp::ProductOrder{.split_k = 7, .sum_format = ulp::formats::bf16}) ==
          "split-k 7, partial sums in bf16");
    CHECK_THROWS_WITH_AS((void)dot.product(model, {.sum_format = ulp::formats::bf16}, 0),
                         doctest::Contains("give split or piece"), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)dot.product(model, {.split_k = 2, .sum_format = ulp::formats::fp64}, 0),
                         doctest::Contains("held in fp32 at most, not in fp64"), std::invalid_argument);
}

TEST_CASE("the orders that a search tries: plain, promoted, split in up to 32 pieces and sliced") {
    const std::vector<ulp::ProductOrder>& orders = ulp::candidate_orders();
    REQUIRE(orders.size() > 8);
    CHECK(orders[0] == ulp::ProductOrder{});
    CHECK(orders[1].promote_every == 128);
    CHECK(orders[2].split_k == 2);
    for (const ulp::ProductOrder& one :
         {ulp::ProductOrder{.split_k = 16}, {.split_k = 2, .slice_k = 8}, {.split_k = 4, .slice_k = 64}}) {
        CHECK(std::ranges::find(orders, one) != orders.end());
    }
    const auto lengths = [](std::int64_t k) {
        std::set<std::int64_t> found;
        for (const ulp::ProductOrder& order : ulp::split_orders(k, std::nullopt)) found.insert(order.piece_k);
        return found;
    };
    CHECK(lengths(32 * 36).contains(36));        // 32 pieces, no fewer
    CHECK_FALSE(lengths(33 * 40).contains(40));  // that would be 33
    CHECK(lengths(140).contains(96));            // halves on tiles of 32
}

TEST_CASE("pieces of a sliced k take turns") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    const RandomDot dot(model, 100, 5);
    // Slices of 16: pieces 0 and 1 by turns; 3 x 16 + 4 products of the first, 3 x 16 of the second.
    std::vector<float> sums{0.75F, 0.0F};
    for (std::size_t first = 0; first < 100; first += 16) {
        float& sum = sums[first / 16 % 2];
        sum = dot.chain(model, first, std::min<std::size_t>(first + 16, 100), sum);
    }
    CHECK(bits(dot.product(model, {.split_k = 2, .slice_k = 16}, 0.75F)) == bits(sums[0] + sums[1]));
    CHECK(bits(sums[0] + sums[1]) != bits(dot.product(model, {.split_k = 2}, 0.75F)));
    CHECK(bits(dot.product(model, {.split_k = 1, .slice_k = 16}, 0.75F)) == bits(dot.product(model, {}, 0.75F)));
    CHECK(bits(dot.product(model, {.split_k = 2, .slice_k = 500}, 0.75F)) == bits(dot.product(model, {}, 0.75F)));
    CHECK_THROWS_AS((void)dot.product(model, {.slice_k = -1}, 0), std::invalid_argument);
}

TEST_CASE("promotion adds the running sum in fp32 at its interval") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:wgmma.e4m3.fp32");
    const RandomDot dot(model, 300, 6);
    float expected = 0.5F;
    for (const std::size_t first : {0U, 128U, 256U}) {
        expected += dot.chain(model, first, first == 256 ? 300 : first + 128, 0);
    }
    CHECK(bits(dot.product(model, {.promote_every = 128}, 0.5F)) == bits(expected));
    CHECK(bits(expected) != bits(dot.product(model, {}, 0.5F)));
}

TEST_CASE("scales of blocks multiply the promoted sums, of the last, shorter block too") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:wgmma.e4m3.fp32");
    const float a_scales[]{0.5F, 3, 0.1F}, b_scales[]{2, 0.3F, 7}, c = 0.5F;
    for (const std::int64_t k : {300, 256}) {
        const RandomDot dot(model, k, 6);
        const std::int64_t blocks = (k + 127) / 128;
        float expected = c, d = 0;
        std::vector<float> scales(a_scales, a_scales + blocks);
        scales.push_back(std::numeric_limits<float>::infinity());  // behind the last: no block's
        for (std::int64_t i = 0; i < blocks; ++i) {
            const auto first = static_cast<std::size_t>(128 * i);
            const float sum = dot.chain(model, first, std::min(first + 128, dot.a.size()), 0);
            const float scale = a_scales[i] * b_scales[i], scaled = sum * scale;
            expected += scaled;
        }
        const ulp::GemmProblem problem{{dot.a.data(), 1, k}, {dot.b.data(), k, 1}, {&c, 1, 1}, {&d, 1, 1}};
        const ulp::BlockScales both{{scales.data(), 1, blocks}, {b_scales, blocks, 1}};
        ulp::soft_product(model, {.promote_every = 128}, problem, both);
        CHECK(bits(d) == bits(expected));
        CHECK_THROWS_AS(ulp::soft_product(model, {}, problem, both), std::invalid_argument);
        CHECK_THROWS_AS(ulp::soft_product(model, {.split_k = 2, .promote_every = 128}, problem, both),
                        std::invalid_argument);
    }
}

TEST_CASE("orders by the names that people read") {
    CHECK(ulp::name_of(ulp::ProductOrder{}) == "ascending k");
    CHECK(ulp::name_of(ulp::ProductOrder{.split_k = 4}) == "split-k 4");
    CHECK(ulp::name_of(ulp::ProductOrder{.piece_k = 36}) == "split-k of 36 each");
    CHECK(ulp::name_of(ulp::ProductOrder{.split_k = 2, .slice_k = 32}) == "sliced k: 2 x 32");
}

TEST_CASE("the epilogue is one fused multiply-add in fp32") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    const RandomDot dot(model, 64, 7);
    const float sum = dot.chain(model, 0, 64, 0);
    const float scaled = 0.3F * 1.7F;
    const double exact = double{1.1F} * sum;  // exact in fp64
    const auto expected = static_cast<float>(exact + scaled);
    const ulp::ProductOrder order{.epilogue = ulp::LinearEpilogue{1.1F, 0.3F}};
    CHECK(bits(dot.product(model, order, 1.7F)) == bits(expected));
    CHECK(bits(dot.product(model, {.epilogue = ulp::LinearEpilogue{1, 0}}, 1.7F)) == bits(sum));
}

TEST_CASE("fp64 products know the same orders and epilogue, in fp64") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp64.fp64");
    constexpr std::int64_t k = 50;
    std::vector<double> a, b;
    for (std::uint64_t i = 0; i < k; ++i) {
        a.push_back(static_cast<double>(ulp::random_word(1, i) >> 11) * 0x1p-53);
        b.push_back(static_cast<double>(ulp::random_word(2, i) >> 11) * 0x1p-52 - 1);
    }
    const double c = 0.3;
    const auto product = [&](const ulp::ProductOrder& order) {
        double d = 0;
        ulp::fp64_product(model, order, {{a.data(), 1, k}, {b.data(), k, 1}, {&c, 1, 1}, {&d, 1, 1}});
        return d;
    };
    const auto chain = [&](std::size_t first, std::size_t last, double sum) {
        for (std::size_t i = first; i < last; ++i) sum = std::fma(a[i], b[i], sum);
        return sum;
    };
    const auto same = [](double x, double y) {
        return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
    };
    CHECK(same(product({}), chain(0, k, c)));
    CHECK(same(product({.split_k = 2}), chain(0, 28, c) + chain(28, k, 0)));
    CHECK(same(product({.piece_k = 20}), (chain(0, 20, c) + chain(20, 40, 0)) + chain(40, k, 0)));
    CHECK_FALSE(same(product({.split_k = 2}), product({})));
    const auto in_fp32 = [](double x) { return static_cast<double>(static_cast<float>(x)); };
    const double both = in_fp32(chain(0, 28, c)) + in_fp32(chain(28, k, 0));
    CHECK(same(product({.split_k = 2, .sum_format = ulp::formats::fp32}), both));
    CHECK(same(product({.epilogue = ulp::LinearEpilogue{0.1, -1.7}}), std::fma(0.1, chain(0, k, 0), -1.7 * c)));
    CHECK_THROWS_AS((void)product({.promote_every = 16}), std::invalid_argument);
}

TEST_CASE("a factor of zero in the epilogue leaves its operands unread") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    const RandomDot dot(model, 64, 7);
    const float sum = dot.chain(model, 0, 64, 0);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const auto order = [](float alpha, float beta) {
        return ulp::ProductOrder{.epilogue = ulp::LinearEpilogue{alpha, beta}};
    };
    for (const float c : {nan, infinity, 1.7F}) CHECK(bits(dot.product(model, order(1, 0), c)) == bits(sum));
    CHECK(bits(dot.product(model, order(1, 1), nan)) == 0x7FFFFFFF);
    RandomDot invalid = dot;
    invalid.a[3] = nan;
    invalid.b[9] = infinity;
    CHECK(bits(invalid.product(model, order(0, 0.5F), 3)) == bits(1.5F));
    CHECK(bits(invalid.product(model, order(0, 1), -0.0F)) == bits(-0.0F));
    CHECK(bits(invalid.product(model, order(-0.0F, 0), nan)) == 0);
    CHECK(bits(invalid.product(model, order(1, 0.5F), 3)) == 0x7FFFFFFF);
}

TEST_CASE("an epilogue without C scales the sum, its sign of zero included") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    const auto product = [&](float a, float alpha) {
        const std::vector<float> x(16, a), y(16, 1.0F);
        float d = 1;
        ulp::soft_product(model, {.epilogue = ulp::LinearEpilogue{alpha, 0}},
                          {{x.data(), 1, 16}, {y.data(), 16, 1}, {}, {&d, 1, 1}});
        return bits(d);
    };
    CHECK(product(0.0F, 1) == bits(0.0F));
    CHECK(product(0.0F, -1) == bits(-0.0F));
    CHECK(product(1.0F, -1) == bits(-16.0F));
}

TEST_CASE("orders that fit no instruction are refused") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    const RandomDot dot(model, 32, 8);
    CHECK_THROWS_WITH_AS((void)dot.product(model, {.promote_every = 100}, 0), doctest::Contains("multiple of 16"),
                         std::invalid_argument);
    CHECK_THROWS_AS((void)dot.product(model, {.split_k = 0}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)dot.product(ulp::unit_model<ulp::TensorCoreModel>("sm_80:mma.fp64.fp64"), {}, 0),
                    std::invalid_argument);
}

TEST_CASE("integer sums wrap, or are clamped after each instruction") {
    const std::vector<int> a(64, 127);
    const std::vector<int> b(64, 127);
    const std::int32_t most = std::numeric_limits<std::int32_t>::max();
    const auto& wraps = ulp::unit_model<ulp::IntegerModel>("sm_80:mma.s8.s32");
    const auto& clamps = ulp::unit_model<ulp::IntegerModel>("sm_80:mma.s8.s32.satfinite");
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
    CHECK(ulp::integer_dot(ulp::unit_model<ulp::IntegerModel>("sm_80:mma.b1_xor.s32"), a.data(), b.data(), 10, 4) ==
          12);
    CHECK(ulp::integer_dot(ulp::unit_model<ulp::IntegerModel>("sm_80:mma.b1_and.s32"), a.data(), b.data(), 10, 4) ==
          11);
    CHECK(ulp::unit_or_null("sm_75:mma.b1_and.s32") == nullptr);
}

TEST_CASE("fp64 instructions are chains of fused multiply-adds") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_80:mma.fp64.fp64");
    const std::vector<double> a{1.0, 0x1p-53, 0x1p-53};
    const std::vector<double> b{1.0, 1.0, 1.0};
    double d = 0;
    ulp::gemm(model, {{a.data(), 1, 3}, {b.data(), 3, 1}, {}, {&d, 1, 1}});
    CHECK(d == 1.0);  // each half of the last place is lost on its own
    const std::vector<double> reversed{0x1p-53, 0x1p-53, 1.0};
    ulp::gemm(model, {{reversed.data(), 1, 3}, {b.data(), 3, 1}, {}, {&d, 1, 1}});
    CHECK(d == 1.0 + 0x1p-52);
}

namespace {

/// Different elements of the fast and the plain product, of m x n x k with C and transposed operands.
int integer_differences(const ulp::IntegerModel& model, std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto values = [&](const ulp::IntegerRange& range, std::int64_t count, std::uint64_t seed) {
        std::vector<std::int32_t> x;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::uint64_t word = ulp::random_word(seed, static_cast<std::uint64_t>(i));
            const auto span = static_cast<std::uint64_t>(range.greatest - range.least + 1);
            x.push_back(word % 4 == 0 ? range.greatest : range.least + static_cast<int>(word / 4 % span));
        }
        return x;
    };
    const auto a = values(operand_range(model, model.a_signed), m * k, 1);
    const auto b = values(operand_range(model, model.b_signed), k * n, 2);
    std::vector<std::int32_t> c, fast(static_cast<std::size_t>(m * n)), plain(fast.size());
    for (std::size_t i = 0; i < fast.size(); ++i) {  // sums near both ends of int32
        const auto little = static_cast<std::int32_t>(ulp::random_word(3, i) % 100'000);
        c.push_back(i % 3 == 0 ? little : (i % 3 == 1 ? 0x7FFFFFFF - little : -0x7FFFFFFF + little));
    }
    ulp::IntegerProblem p{{a.data(), m, k, 1, m}, {b.data(), k, n}, {c.data(), m, n}, {fast.data(), m, n}};
    gemm(model, p);
    p.d.data = plain.data();
    gemm_plain(model, p);
    int different = 0;
    for (std::size_t i = 0; i < fast.size(); ++i) different += fast[i] != plain[i] ? 1 : 0;
    return different;
}

}  // namespace

TEST_CASE("fast integer products equal the plain ones for every row") {
    for (const auto& [row, model] : ulp::rows_of<ulp::IntegerModel>()) {
        const std::string key = row.key();
        CAPTURE(key);
        CHECK(integer_differences(model, 5, 7, 131) == 0);
    }
    CHECK(integer_differences(ulp::unit_model<ulp::IntegerModel>("sm_80:mma.u8.s32"), 2, 2, 9001) == 0);
    const std::int32_t out_of_range[] = {1, 2, -129, 3};
    std::int32_t d[4] = {};
    const ulp::IntegerProblem bad{{d, 2, 2}, {out_of_range, 2, 2}, {}, {d, 2, 2}};
    CHECK_THROWS_WITH_AS(gemm(ulp::unit_model<ulp::IntegerModel>("sm_80:mma.s8.s32"), bad),
                         "B[1, 0] is -129, out of the operands' range from -128 to 127", std::invalid_argument);
}
