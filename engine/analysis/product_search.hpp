// The ways of computing a product that give a part of D, the nearest and simplest first; what product_explanation.cpp
// judges on all of D.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/analysis/product_explanation.hpp"
#include "engine/analysis/product_faults.hpp"
#include "softfloat/round.hpp"

namespace ulp {

inline constexpr int most_pieces_of_k = 64;  // of equal length, that are tried

/// A way, and the fault of its operands in the list of the search: from 1 on, 0: none.
struct SearchedWay {
    ProductComputation way;
    std::size_t fault = 0;
};

template <class Real>
struct ProductSearch {
    std::vector<SearchedWay> ways;  // that give all of the part, then a few that do not
    std::vector<ProductFault<Real>> faults;
    std::int64_t tried = 0;
    std::int64_t tried_on = 0;   // elements
    LinearEpilogue estimated{};  // alpha and beta
};
template <class Real>
ProductSearch<Real> search_product(const BasicProductQuestion<Real>& question);

// Matrices as the search and the explanation compare them.

/// The elements row by row.
template <class Real>
std::span<const Real> elements(const MatrixOf<Real>& matrix) {
    return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

inline std::vector<Index> all_of(Index count) {
    std::vector<Index> list(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<Index>(i);
    return list;
}

/// At most `most` of them, evenly spread.
inline std::vector<Index> spread_over(Index count, Index most) {
    if (count <= most) return all_of(count);
    std::vector<Index> list;
    for (Index i = 0; i < most; ++i) list.push_back(i * count / most);
    return list;
}

template <class Real>
bool lies_on(const MatrixOf<Real>& d, const FloatFormat& format) {
    return std::ranges::all_of(elements(d), [&](Real x) { return same_bits(round_to(format, x), x); });
}

template <class Real>
MatrixOf<Real> rounded_to(const FloatFormat& format, const MatrixOf<Real>& matrix) {
    return matrix.unaryExpr([&](Real x) { return round_to(format, x); });
}

template <class Real>
std::int64_t matches_of(const MatrixOf<Real>& d, const MatrixOf<Real>& wanted) {
    std::int64_t count = 0;
    for (Index i = 0; i < d.size(); ++i) count += same_bits(d.data()[i], wanted.data()[i]) ? 1 : 0;
    return count;
}

/// The bits row by row; all NaNs are one.
template <class Real>
std::vector<WordOf<Real>> words_of(const MatrixOf<Real>& d) {
    std::vector<WordOf<Real>> words;
    for (const Real x : elements(d)) words.push_back(std::isnan(x) ? ~WordOf<Real>{0} >> 1 : bits_of(x));
    return words;
}

/// Different numbers enough to tell a factor or a format of partial sums by: those of ones, say, are not.
template <class Real>
bool tells_numbers(const MatrixOf<Real>& d) {
    std::vector<WordOf<Real>> words = words_of(d);
    std::ranges::sort(words);
    return std::unique(words.begin(), words.end()) - words.begin() >= std::min<Index>(16, d.size());
}

template <class Real>
ProductOperands<Real> part_of(const ProductOperands<Real>& given, const std::vector<Index>& rows,
                              const std::vector<Index>& cols) {
    ProductOperands<Real> part{given.a(rows, Eigen::all), given.b(Eigen::all, cols)};
    if (given.c) part.c = (*given.c)(rows, cols);
    if (given.a_scales) part.a_scales = (*given.a_scales)(rows, Eigen::all);
    if (given.b_scales) part.b_scales = (*given.b_scales)(Eigen::all, cols);
    return part;
}

}  // namespace ulp
