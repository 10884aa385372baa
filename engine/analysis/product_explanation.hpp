// Which unit, order of k, epilogue and output format give a whole product D.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/tensor/matrix.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp {

/// fp32 holds the numbers of all units but those with fp64 operands.
template <class Real>
using MatrixOf = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// What is multiplied: A is m x k, B k x n, C m x n; of units with block scales also the scales, m x (k / block) and
/// (k / block) x n.
template <class Real>
struct ProductOperands {
    MatrixOf<Real> a, b;
    std::optional<MatrixOf<Real>> c{}, a_scales{}, b_scales{};
};

/// A is m x k, B k x n, C and D m x n; A and B lie on the model's formats. Of double for units with fp64 operands
/// alone.
template <class Real>
struct BasicProductQuestion {
    std::string unit;       // what the model is called
    TensorCoreModel model;  // the first candidate; the others have its input formats
    MatrixOf<Real> a, b, d;
    std::optional<MatrixOf<Real>> c{};
    std::optional<LinearEpilogue> epilogue{};  // what the caller knows of alpha and beta
    std::function<void()> before_each_way{};   // ends the search where it throws
    std::optional<BlockScaledModel> scaled{};  // of units with block scales, whose part without scales is the model
    std::optional<MatrixOf<Real>> a_scales{}, b_scales{};
    std::int64_t promote_every =
        0;  // > 0: the scales are of other units, multiplied in at each promotion (BlockScales)

    [[nodiscard]] ProductOperands<Real> operands() const { return {a, b, c, a_scales, b_scales}; }
};
using ProductQuestion = BasicProductQuestion<float>;

/// One way to compute D.
struct ProductComputation {
    std::string unit;
    std::vector<std::string> same_units;  // rows of the same model
    TensorCoreModel model;
    LaneOrder walk = LaneOrder::ascending;  // of all of k
    ProductOrder order{};                   // with its epilogue
    bool reads_c = false;
    FloatFormat output;  // what the accumulator's value is rounded to, to nearest even
    std::optional<BlockScaledModel> scaled{};
    std::string fault{};       // of the operands: "the last 8 of k are missing"; empty: they are as given
    std::int64_t missing = 0;  // of k, by the fault
};
/// "ascending k, split-k 4"; "none", "C is the first addend", "alpha = 0.5, beta = 2".
std::string order_text(const ProductComputation& way);
std::string epilogue_text(const ProductComputation& way);
/// "sm_90:mma.fp16.fp32, ascending k, split-k 4, stored in bf16"
std::string way_text(const ProductComputation& way);

/// Ways that give the same bits for these operands, the simplest first.
template <class Real>
struct BasicProductCandidate {
    std::vector<ProductComputation> ways;
    std::int64_t matches = 0;  // elements of D with the same bits; NaNs count as equal
    MatrixOf<Real> d;          // what the ways give
};

enum class ProductVerdict : std::uint8_t {
    explained,     // all of D by one way or more of multiplying these operands
    fault,         // all of D by multiplying other operands than these
    within_bound,  // no way gives all of D; each element is as near the exact one as the unit's bound allows
    outside_bound
};

template <class Real>
struct BasicProductExplanation {
    std::vector<BasicProductCandidate<Real>> candidates;  // best first
    std::int64_t tried = 0;                               // ways
    std::int64_t tried_on = 0;                            // elements of D at most, by which ways are chosen
    std::int64_t of = 0;                                  // elements of D
    LinearEpilogue estimated{};                           // alpha and beta as least squares of the sums give them
    ProductVerdict verdict = ProductVerdict::outside_bound;

    /// Of ways that give all of D; several rows of one model are one way.
    [[nodiscard]] std::size_t agree() const {
        return candidates.empty() || candidates.front().matches != of ? 0 : candidates.front().ways.size();
    }
};
using ProductExplanation = BasicProductExplanation<float>;

/// Tries the unit, the others of its architecture, all rows of these input formats and loops of a processor with orders
/// of k (as it comes, reversed, even k first; split in 2 to 64, sliced, in pieces and tiles, promoted), formats and
/// orders of the partial sums, epilogues and output formats, in this order of preference, the simplest first; where
/// none gives D, operands that are not these (product_faults.hpp). alpha and beta are free where C is given alone, and
/// its products differ. Where D is large, a part of it chooses which ways are computed whole. Throws DataError for
/// shapes that do not fit, and for an alpha of 0, which says nothing of A and B.
template <class Real>
BasicProductExplanation<Real> explain_product(const BasicProductQuestion<Real>& question);

/// "explained", "explained as a fault: the last 8 of k are missing", "within the bound but not explained", "outside the
/// bound".
template <class Real>
std::string verdict_text(const BasicProductExplanation<Real>& explanation);

/// The best candidates with their ways, the elements that separate the first two, what was tried, and the verdict.
template <class Real>
std::string explanation_text(const BasicProductQuestion<Real>& question,
                             const BasicProductExplanation<Real>& explanation);
/// {"unit", "m", "n", "k", "tried", "verdict", "agree", "missing_k", "candidates": [{"unit", "order", "split_k",
/// "epilogue", "output", "fault", "matches", "of", "ties": [...], "separated_from_next": [[i, j], ...]}, ...]}: best
/// first, a candidate for each set of bits.
template <class Real>
std::string explanation_json(const BasicProductQuestion<Real>& question,
                             const BasicProductExplanation<Real>& explanation);

/// The product one way, of operands as they are (a fault is in them already), before it is rounded to its output.
template <class Real>
MatrixOf<Real> product_of(const ProductComputation& way, const ProductOperands<Real>& operands);

/// How far an element of D may lie from the exact one, row by row: the unit's a-priori bound of sums in any order of up
/// to 64 pieces, or of a way's model and order, the epilogue's and the rounding to the narrowest format that holds D.
template <class Real>
std::vector<double> bounds_of_elements(const BasicProductQuestion<Real>& question,
                                       const ProductComputation* way = nullptr);
/// alpha A B + beta C in fp64, beside which the bounds stand.
template <class Real>
std::vector<double> exact_elements(const BasicProductQuestion<Real>& question);

/// Operands, m x k and k x n, for which as many of the ways as 100 tries find give different bits; C where one of them
/// reads it.
template <class Real>
struct SeparatingOperands {
    MatrixOf<Real> a, b;
    std::optional<MatrixOf<Real>> c{};
    std::vector<std::vector<std::size_t>> groups;  // of ways that these operands do not tell apart
};
template <class Real>
SeparatingOperands<Real> separate(const std::vector<ProductComputation>& ways, std::int64_t k);

// Bits of the numbers of a product, as its explanation compares them.

template <class Real>
using WordOf = std::conditional_t<std::is_same_v<Real, double>, std::uint64_t, std::uint32_t>;

template <class Real>
WordOf<Real> bits_of(Real x) {
    return std::bit_cast<WordOf<Real>>(x);
}

/// The same bits, or both NaN.
template <class Real>
bool same_bits(Real x, Real y) {
    return bits_of(x) == bits_of(y) || (std::isnan(x) && std::isnan(y));
}

}  // namespace ulp
