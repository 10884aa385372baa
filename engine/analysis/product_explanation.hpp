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
#include "softfloat/matrix_units/product.hpp"

namespace ulp {

/// fp32 holds the numbers of all units but those with fp64 operands.
template <class Real>
using MatrixOf = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

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
};
/// "ascending k, split-k 4"; "none", "C is the first addend", "alpha = 0.5, beta = 2".
std::string order_text(const ProductComputation& way);
std::string epilogue_text(const ProductComputation& way);

/// Ways that give the same bits for these operands, the simplest first.
template <class Real>
struct BasicProductCandidate {
    std::vector<ProductComputation> ways;
    std::int64_t matches = 0;  // elements of D with the same bits; NaNs count as equal
    MatrixOf<Real> d;          // what the ways give
};

template <class Real>
struct BasicProductExplanation {
    std::vector<BasicProductCandidate<Real>> candidates;  // best first
    std::int64_t tried = 0;                               // ways
    std::int64_t tried_on = 0;                            // elements of D at most, by which ways are chosen
    std::int64_t of = 0;                                  // elements of D
    LinearEpilogue estimated{};                           // alpha and beta as least squares of the sums give them
};
using ProductExplanation = BasicProductExplanation<float>;

/// Tries units (all rows of these input formats, loops of a processor) with orders of k (as it comes, reversed,
/// even k first; split, sliced, in pieces and tiles, promoted), epilogues and output formats. Where D is large, a part
/// of it chooses which ways are computed whole. Throws DataError for shapes that do not fit.
template <class Real>
BasicProductExplanation<Real> explain_product(const BasicProductQuestion<Real>& question);

/// The best candidates with their ways, the elements that separate the first two, and what was tried.
template <class Real>
std::string explanation_text(const BasicProductQuestion<Real>& question,
                             const BasicProductExplanation<Real>& explanation);
/// {"unit", "m", "n", "k", "tried", "candidates": [{"unit", "order", "epilogue", "output", "matches", "of", "ties":
/// [...], "separated_from_next": [[i, j], ...]}, ...]}: best first, a candidate for each set of bits.
template <class Real>
std::string explanation_json(const BasicProductQuestion<Real>& question,
                             const BasicProductExplanation<Real>& explanation);

/// The product one way.
template <class Real>
MatrixOf<Real> product_of(const ProductComputation& way, const MatrixOf<Real>& a, const MatrixOf<Real>& b,
                          const MatrixOf<Real>* c);

/// Operands, m x k and k x n, for which as many of the ways as 100 tries find give different bits.
template <class Real>
struct SeparatingOperands {
    MatrixOf<Real> a, b;
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
