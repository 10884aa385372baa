// Products made in known ways, and what is said of who made them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/analysis/product_explanation.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;
constexpr Index k = 384;

Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
    Matrix matrix(rows, cols);
    const auto codes = random_codes(formats::fp16, DataClass::ordinary, rows * cols, seed);
    for (std::size_t i = 0; i < codes.size(); ++i) matrix.data()[i] = in_fp32_container(formats::fp16, codes[i]);
    return matrix;
}
const Matrix a = random_matrix(24, k, 1);
const Matrix b = random_matrix(k, 20, 2);
const Matrix c = random_matrix(24, 20, 3);

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

Matrix product(const std::string& unit, const ProductOrder& order, const Matrix& left = a, const Matrix& right = b,
               const Matrix* addend = nullptr) {
    Matrix d(left.rows(), right.cols());
    soft_product(unit_model<TensorCoreModel>(unit), order,
                 {left, right, addend == nullptr ? MatrixView() : MatrixView(*addend), d});
    return d;
}

Matrix stored_in(const FloatFormat& format, const Matrix& d) {
    return d.unaryExpr([&](float x) { return round_to(format, x); });
}

ProductQuestion question_of(const Matrix& d, bool with_c = false) {
    const std::string unit = "sm_90:mma.fp16.fp32";
    ProductQuestion question{unit, unit_model<TensorCoreModel>(unit), a, b, d};
    if (with_c) question.c = c;
    return question;
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

const std::string hopper = "sm_90:mma.fp16.fp32";
const std::string ampere = "sm_80:mma.fp16.fp32";

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
    CHECK(found(explained(product(hopper, {.piece_k = 80})), hopper, "split-k of 80 each"));
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
    CHECK(explanation_text(question, one).find("None of the ways explains all of D") != std::string::npos);
    const auto json = nlohmann::json::parse(explanation_json(question, one));
    CHECK(json["candidates"][0]["matches"] == one.of - 1);
    CHECK(json["candidates"][0]["of"] == one.of);
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

TEST_CASE("ways that tie on given operands are told apart by others, except those of one model") {
    const TensorCoreModel& model = unit_model<TensorCoreModel>(hopper);
    const std::vector<ProductComputation> ways = {
        {hopper, {}, model, LaneOrder::ascending, {}, false, formats::fp32},
        {hopper, {}, model, LaneOrder::ascending, {.split_k = 2}, false, formats::fp32},
        {"twin", {}, model, LaneOrder::ascending, {}, false, formats::fp32}};
    const SeparatingOperands<float> operands = separate<float>(ways, 64);
    CHECK(operands.groups == std::vector<std::vector<std::size_t>>{{0, 2}, {1}});
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
