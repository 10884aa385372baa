// Products made in known ways, and what is said of who made them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/analysis/product_explanation.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/round.hpp"
#include "tests/experiments/random_product_faults.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

/// k in the order that `from` gives, in A's columns and B's rows.
std::pair<Matrix, Matrix> reordered(const std::function<Index(Index)>& from) {
    Matrix left = a;
    Matrix right = b;
    for (Index q = 0; q < k; ++q) {
        left.col(q) = a.col(from(q));
        right.row(q) = b.row(from(q));
    }
    return {left, right};
}

Matrix stored_in(const FloatFormat& format, const Matrix& d) {
    return d.unaryExpr([&](float x) { return round_to(format, x); });
}

/// Whether the best candidate gives all of D, and one of its ways is this one.
bool found(const ProductExplanation& explanation, const std::string& unit, const std::string& order,
           const std::string& epilogue = "none", const FloatFormat& output = formats::fp32) {
    if (explanation.candidates.empty() || explanation.candidates.front().matches != explanation.of) return false;
    return std::ranges::any_of(explanation.candidates.front().ways, [&](const ProductComputation& way) {
        const bool same_unit = way.unit == unit || std::ranges::count(way.same_units, unit) > 0;
        return same_unit && order_text(way) == order && epilogue_text(way) == epilogue && way.output == output;
    });
}

}  // namespace

TEST_CASE("a product is explained by the way in which it was made, whichever unit is asked for first") {
    const auto explained = [](const Matrix& d, bool with_c = false) { return explain_product(question_of(d, with_c)); };
    CHECK(found(explained(product(hopper, {})), hopper, "ascending k"));
    CHECK(found(explained(product("sm_70:mma.fp16.fp32", {})), "sm_70:mma.fp16.fp32", "ascending k"));
    const auto [left, right] = reordered([](Index q) { return k - 1 - q; });
    CHECK(found(explained(product(hopper, {}, left, right)), hopper, "descending k"));
    const auto [evens, even_rows] = reordered([](Index q) { return q < k / 2 ? 2 * q : 2 * (q - k / 2) + 1; });
    CHECK(found(explained(product(ampere, {}, evens, even_rows)), ampere, "even k first"));
    for (const int pieces : {2, 4, 8}) {
        CHECK(found(explained(product(hopper, {.split_k = pieces})), hopper, fmt::format("split-k {}", pieces)));
    }
    CHECK(found(explained(product(ampere, {.split_k = 4})), ampere, "split-k 4"));
    CHECK(found(explained(product(hopper, {.split_k = 2, .slice_k = 16})), hopper, "sliced k: 2 x 16"));
    CHECK(found(explained(product(hopper, {.piece_k = 56})), hopper, "split-k of 56 each"));
    CHECK(found(explained(product(hopper, {.promote_every = 128})), hopper, "ascending k, promoted every 128"));
    CHECK(found(explained(product("sm_90:mma.fp16.fp16", {})), "sm_90:mma.fp16.fp16", "ascending k", "none",
                formats::fp16));
    CHECK(
        found(explained(stored_in(formats::fp16, product(hopper, {}))), hopper, "ascending k", "none", formats::fp16));
    CHECK(
        found(explained(stored_in(formats::bf16, product(hopper, {}))), hopper, "ascending k", "none", formats::bf16));
    CHECK(found(explained(product(hopper, {}, a, b, &c), true), hopper, "ascending k", "C is the first addend"));
    CHECK(found(explained(product(hopper, {.epilogue = LinearEpilogue{0.5F, 2}}, a, b, &c), true), hopper,
                "ascending k", "alpha = 0.5, beta = 2"));
    CHECK(found(explained(product(hopper, {.epilogue = LinearEpilogue{0.3, -1.7}}, a, b, &c), true), hopper,
                "ascending k", "alpha = 0.3, beta = -1.7"));
}

TEST_CASE("a plain loop on a processor is told from matrix units") {
    Matrix d = Matrix::Zero(a.rows(), b.cols());
    for (Index i = 0; i < d.rows(); ++i) {
        for (Index j = 0; j < d.cols(); ++j) {
            for (Index q = 0; q < k; ++q) d(i, j) += a(i, q) * b(q, j);  // the products are exact
        }
    }
    CHECK(found(explain_product(question_of(d)), "loop of fused multiply-adds in fp32", "ascending k"));
}

TEST_CASE("fp64 products are explained as others are, and loops of fused and of separate operations told apart") {
    using Fp64Matrix = MatrixOf<double>;
    const std::string dmma = "sm_90:mma.fp64.fp64";
    const auto& model = unit_model<TensorCoreModel>(dmma);
    const auto random = [](Index rows, Index cols, std::uint64_t seed) {
        Fp64Matrix matrix(rows, cols);
        for (Index i = 0; i < matrix.size(); ++i) {
            matrix.data()[i] =
                static_cast<double>(random_word(seed, static_cast<std::uint64_t>(i)) >> 11) * 0x1p-52 - 1;
        }
        return matrix;
    };
    const Fp64Matrix x = random(9, 160, 1), y = random(160, 11, 2), z = random(9, 11, 3);
    const auto made = [&](const ProductOrder& order, const Fp64Matrix& left, const Fp64Matrix& right, bool with_c) {
        using View = BasicMatrixView<const double>;
        Fp64Matrix d(9, 11);
        fp64_product(model, order, {left, right, with_c ? View(z) : View(), d});
        return d;
    };
    const auto explained = [&](const Fp64Matrix& d, bool with_c = false) {
        BasicProductQuestion<double> question{dmma, model, x, y, d};
        if (with_c) question.c = z;
        return explain_product(question);
    };
    const auto is = [&](const auto& explanation, const std::string& unit, const std::string& order,
                        const std::string& epilogue = "none", const FloatFormat& output = formats::fp64) {
        const auto& best = explanation.candidates.front();
        return best.matches == explanation.of && std::ranges::any_of(best.ways, [&](const ProductComputation& way) {
                   return way.unit == unit && order_text(way) == order && epilogue_text(way) == epilogue &&
                          way.output == output;
               });
    };
    CHECK(is(explained(made({}, x, y, false)), dmma, "ascending k"));
    CHECK(is(explained(made({}, x.rowwise().reverse(), y.colwise().reverse(), false)), dmma, "descending k"));
    CHECK(is(explained(made({.split_k = 4}, x, y, false)), dmma, "split-k 4"));
    CHECK(is(explained(made({.piece_k = 48}, x, y, false)), dmma, "split-k of 48 each"));
    CHECK(is(explained(made({}, x, y, true), true), dmma, "ascending k", "C is the first addend"));
    CHECK(is(explained(made({.epilogue = LinearEpilogue{0.3, -1.7}}, x, y, true), true), dmma, "ascending k",
             "alpha = 0.3, beta = -1.7"));
    const Fp64Matrix narrow = made({}, x, y, false).cast<float>().cast<double>();
    CHECK(is(explained(narrow), dmma, "ascending k", "none", formats::fp32));
    Fp64Matrix separate_operations = Fp64Matrix::Zero(9, 11);
    for (Index i = 0; i < 9; ++i) {
        for (Index j = 0; j < 11; ++j) {
            for (Index q = 0; q < 160; ++q) separate_operations(i, j) += x(i, q) * y(q, j);
        }
    }
    const auto loop = explained(separate_operations);
    CHECK(is(loop, "loop of products and sums in fp64", "ascending k"));
    CHECK_FALSE(is(loop, dmma, "ascending k"));
    CHECK(is(explained(made({}, x, y, false)), "loop of fused multiply-adds in fp64", "ascending k"));
}

TEST_CASE("what no way gives is said to be unexplained, and one wrong element is counted") {
    Matrix d = product(hopper, {});
    d(0, 7) = -d(0, 7);
    const ProductQuestion question = question_of(d);
    const ProductExplanation one = explain_product(question);
    CHECK(one.candidates.front().matches == one.of - 1);
    CHECK(explanation_text(question, one).ends_with("\noutside the bound\n"));
    const auto json = nlohmann::json::parse(explanation_json(question, one));
    CHECK(json["candidates"][0]["matches"] == one.of - 1);
    CHECK(json["candidates"][0]["of"] == one.of);
    CHECK(json["verdict"] == "outside the bound");
    CHECK(json["agree"] == 0);
    for (const char* field : {"unit", "order", "epilogue", "output", "ties", "separated_from_next"}) {
        CHECK(json["candidates"][0].contains(field));
    }
    // The elements said to separate two candidates do.
    const auto& first = one.candidates[0].d;
    const auto& second = one.candidates[1].d;
    for (const auto& place : json["candidates"][0]["separated_from_next"]) {
        const auto i = place[0].get<Index>();
        const auto j = place[1].get<Index>();
        CHECK(first(i, j) != second(i, j));
    }
}

TEST_CASE("partial sums in the output's format are part of the search, the named unit first, ties counted") {
    const auto of_bf16 = [](const Matrix& d) {
        const std::string unit = "sm_89:mma.bf16.fp32";
        const auto model = unit_model<TensorCoreModel>(unit);
        const auto on_bf16 = [](const Matrix& m) { return stored_in(formats::bf16, m); };
        return explain_product(ProductQuestion{unit, model, on_bf16(a), on_bf16(b), d});
    };
    const auto made = [](const std::string& unit, ProductOrder order, const FloatFormat& output) {
        order.split_k = 4;
        return stored_in(output, product(unit, order, stored_in(formats::bf16, a), stored_in(formats::bf16, b)));
    };
    const std::string ada = "sm_89:mma.bf16.fp32";
    const ProductExplanation stored = of_bf16(made(ada, {}, formats::bf16));
    CHECK(found(stored, ada, "split-k 4", "none", formats::bf16));
    CHECK(stored.candidates.front().ways.front().unit == ada);
    CHECK(stored.agree() == stored.candidates.front().ways.size());
    using formats::bf16, formats::fp32;
    for (const auto& [order, text] : {std::pair{ProductOrder{.sum_format = bf16}, "split-k 4, partial sums in bf16"},
                                      {ProductOrder{.sum_format = bf16, .total_format = fp32},
                                       "split-k 4, partial sums in bf16, their total in fp32"},
                                      {ProductOrder{.total_format = bf16}, "split-k 4, their total in bf16"},
                                      {ProductOrder{.sum_format = bf16, .reduction = SumOrder::pairwise},
                                       "split-k 4, added in pairs, partial sums in bf16"}}) {
        const ProductExplanation explanation = of_bf16(made(ada, order, bf16));
        CHECK(found(explanation, ada, text, "none", bf16));
        const auto& way = explanation.candidates.front().ways.front();
        CHECK(way.unit == ada);
        CHECK(way.order.split_k == 4);
        CHECK(explanation.verdict == ProductVerdict::explained);
    }
    const ProductExplanation descending =
        explain_product(question_of(product(hopper, {.split_k = 6, .reduction = SumOrder::descending})));
    CHECK(found(descending, hopper, "split-k 6, added from the last on"));
}

TEST_CASE("none of 8 random faults is explained, and those of k and of memory are named") { check_random_faults(1, 8); }

TEST_CASE("a piece twice, a C left out and an accumulator that was not cleared are faults with names") {
    Matrix left(24, k + 96), right(k + 96, 20);
    left << a.leftCols(192), a.middleCols(96, 96), a.rightCols(192);
    right << b.topRows(192), b.middleRows(96, 96), b.bottomRows(192);
    const ProductExplanation twice = explain_product(question_of(product(hopper, {}, left, right)));
    CHECK(verdict_text(twice) == "explained as a fault: k from 96 to 191 are added twice");
    left << a, a.middleCols(96, 96);
    right << b, b.middleRows(96, 96);
    const ProductExplanation last = explain_product(question_of(product(hopper, {}, left, right)));
    CHECK(verdict_text(last) == "explained as a fault: k from 96 to 191 are added twice, the second time last");
    const ProductExplanation c_left_out = explain_product(question_of(product(hopper, {}), true));
    CHECK(verdict_text(c_left_out) == "explained as a fault: C is left out");
    Matrix both(24, 2 * k), below(2 * k, 20);
    both << a, a;
    below << b, b;
    const ProductExplanation stale = explain_product(question_of(product(hopper, {}, both, below)));
    CHECK(verdict_text(stale) == "explained as a fault: the accumulator held the same product already");
}

TEST_CASE("alpha is not free without C: a tail that is missing from ones is a fault, not a factor") {
    const Matrix ones = Matrix::Ones(8, 720), others = Matrix::Ones(720, 8);
    ProductQuestion question = question_of(Matrix::Constant(8, 8, 712));
    question.a = ones;
    question.b = others;
    const ProductExplanation explanation = explain_product(question);
    CHECK(verdict_text(explanation) == "explained as a fault: the last 8 of k are missing");
    CHECK(explanation.estimated == LinearEpilogue{});
    // 2176 = 2200 - 24 is what bf16 sums of some pieces of 2200 ones give, too.
    question.d = Matrix::Constant(8, 8, 2176);
    question.a = Matrix::Ones(8, 2200);
    question.b = Matrix::Ones(2200, 8);
    CHECK(verdict_text(explain_product(question)) == "explained as a fault: the last 24 of k are missing");
}

TEST_CASE("products with block scales are explained, and scales of another block named") {
    const std::string unit = "sm_100:tcgen05.mxf8f6f4.e4m3.fp32";
    const auto& model = unit_model<BlockScaledModel>(unit);
    const auto on_e4m3 = [](const Matrix& m) { return stored_in(formats::e4m3, m); };
    ProductQuestion question{unit, model.unscaled, on_e4m3(a), on_e4m3(b), Matrix(24, 20)};
    question.scaled = model;
    question.a_scales = Matrix(24, k / 32);
    question.b_scales = Matrix(k / 32, 20);
    for (Matrix* scales : {&*question.a_scales, &*question.b_scales}) {
        for (Index x = 0; x < scales->size(); ++x) {
            scales->data()[x] = std::exp2(static_cast<float>(random_word(5, static_cast<std::uint64_t>(x)) % 5));
        }
    }
    const auto made = [&](const Matrix& of_a) {
        Matrix d(24, 20);
        BlockScaledProblem problem{{question.a, question.b, {}, d}, of_a, *question.b_scales};
        gemm(model, problem);
        return d;
    };
    question.d = made(*question.a_scales);
    const ProductExplanation right = explain_product(question);
    CHECK(right.verdict == ProductVerdict::explained);
    CHECK(right.candidates.front().ways.front().unit == unit);
    Matrix shifted = *question.a_scales;
    shifted.leftCols(k / 32 - 1) = question.a_scales->rightCols(k / 32 - 1);
    question.d = made(shifted);
    CHECK(verdict_text(explain_product(question)) ==
          "explained as a fault: the scales of A are those of the next block");
}

TEST_CASE("ways that tie on given operands are told apart by others, except those of one model") {
    const TensorCoreModel& model = unit_model<TensorCoreModel>(hopper);
    const std::vector<ProductComputation> ways = {
        {hopper, {}, model, LaneOrder::ascending, {}, false, formats::fp32},
        {hopper, {}, model, LaneOrder::ascending, {.split_k = 2}, false, formats::fp32},
        {"twin", {}, model, LaneOrder::ascending, {}, false, formats::fp32}};
    const SeparatingOperands<float> operands = separate<float>(ways, 64);
    CHECK(operands.groups == std::vector<std::vector<std::size_t>>{{0, 2}, {1}});
}

TEST_CASE("ways that agree without C, or read it in different places, are told apart by operands with a C") {
    const TensorCoreModel& model = unit_model<TensorCoreModel>(hopper);
    const auto way = [&](const ProductOrder& order, bool reads_c) {
        return ProductComputation{hopper, {}, model, LaneOrder::ascending, order, reads_c, formats::fp32};
    };
    const SeparatingOperands<float> operands =
        separate<float>({way({}, true), way({.epilogue = LinearEpilogue{1, 1}}, true), way({}, false)}, 64);
    REQUIRE(operands.c);
    CHECK(operands.groups.size() == 3);
    CHECK(!separate<float>({way({}, false), way({.split_k = 2}, false)}, 64).c);
}

TEST_CASE("twelve more ways of making a product are found") {
    using formats::bf16, formats::fp16, formats::fp32;
    struct Made {
        std::string unit;
        ProductOrder order;
        FloatFormat output;
        std::string text;  // of the order
        bool with_c = false;
        std::string epilogue = "none";
        LaneOrder walk = LaneOrder::ascending;
    };
    const LinearEpilogue both{2, 0.5};
    const std::string in_fp16 = "sm_90:mma.fp16.fp16";
    const std::vector<Made> ways = {
        {hopper, {.split_k = 6, .reduction = SumOrder::pairwise}, fp32, "split-k 6, added in pairs"},
        {hopper, {.split_k = 12}, bf16, "split-k 12"},
        {ampere, {.split_k = 24, .reduction = SumOrder::descending}, fp32, "split-k 24, added from the last on"},
        {hopper, {.split_k = 4, .slice_k = 32}, fp32, "sliced k: 4 x 32"},
        {hopper, {.piece_k = 56, .tile_k = 16}, fp32, "split-k of 56 each, the rest of tiles of 16 first"},
        {ampere, {.promote_every = 64}, fp32, "ascending k, promoted every 64"},
        {hopper, {.promote_every = 128}, fp16, "ascending k, promoted every 128"},
        {hopper,
         {.split_k = 8, .sum_format = fp16, .total_format = fp32},
         fp32,
         "split-k 8, partial sums in fp16, their total in fp32"},
        {in_fp16, {.split_k = 4, .sum_format = fp16}, fp16, "split-k 4, partial sums in fp16"},
        {hopper, {.split_k = 4, .epilogue = both}, fp32, "split-k 4", true, "alpha = 2, beta = 0.5"},
        {ampere, {.split_k = 2}, fp32, "split-k 2", true, "C is the first addend"},
        {hopper, {.promote_every = 32}, fp32, "even k first; promoted every 32", false, "none", LaneOrder::even_first}};
    for (const Made& made : ways) {
        CAPTURE(made.unit);
        CAPTURE(made.text);
        const bool evens = made.walk == LaneOrder::even_first;
        const auto [left, right] = reordered([&](Index q) {
            return !evens ? q : q < k / 2 ? 2 * q : 2 * (q - k / 2) + 1;
        });
        const Matrix d = product(made.unit, made.order, left, right, made.with_c ? &c : nullptr);
        ProductQuestion question = question_of(stored_in(made.output, d), made.with_c);
        question.unit = made.unit;
        question.model = unit_model<TensorCoreModel>(made.unit);
        const ProductExplanation explanation = explain_product(question);
        CHECK(explanation.verdict == ProductVerdict::explained);
        CHECK(found(explanation, made.unit, made.text, made.epilogue, made.output));
    }
}

TEST_CASE("an alpha of 0 explains nothing: given it is refused, found it is no way") {
    ProductQuestion question = question_of(Matrix(2 * c), true);
    CHECK(explain_product(question).verdict != ProductVerdict::explained);
    question.epilogue = LinearEpilogue{0, 2};
    CHECK_THROWS_WITH_AS(explain_product(question), doctest::Contains("alpha is 0, so D = beta * C"), DataError);
}

TEST_CASE("products of no k are zeros, which every way gives") {
    const std::string unit = "sm_90:mma.fp16.fp32";
    for (const float x : {0.0F, 1.0F}) {
        const ProductQuestion question{unit, unit_model<TensorCoreModel>(unit), Matrix(3, 0), Matrix(0, 2),
                                       Matrix::Constant(3, 2, x)};
        CHECK(found(explain_product(question), unit, "ascending k") == (x == 0));
    }
}

TEST_CASE("shapes that do not fit are refused") {
    Matrix d = product(hopper, {});
    ProductQuestion question = question_of(d);
    question.d = d.transpose();
    CHECK_THROWS_WITH_AS(explain_product(question), doctest::Contains("D is 20 x 24, the product of A and B 24 x 20"),
                         DataError);
    question = question_of(d);
    question.b = c;
    CHECK_THROWS_WITH_AS(explain_product(question), doctest::Contains("inner sizes"), DataError);
}
