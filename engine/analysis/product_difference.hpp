// Whether the difference of two products of the same operands is what their orders and units explain.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/analysis/product_explanation.hpp"

namespace ulp {

/// |D1 - D2| <= atol + rtol |D2|, as a test has it.
struct Tolerance {
    double rtol = 0, atol = 0;
};

/// Least and median, or largest and median, over elements.
struct ShareOfBound {
    double extreme = 0, median = 0;
};

struct ProductDifference {
    std::array<ProductExplanation, 2> explanations;
    std::int64_t elements = 0, differ = 0;    // bits; NaNs count as equal
    bool explained = false;                   // both products are, or they are equal
    std::string verdict;                      // "equal", or as verdict_text, of both
    std::optional<ShareOfBound> of_bound{};   // of |D1 - D2| to the sum of both bounds: the largest
    std::optional<ShareOfBound> tolerance{};  // of the tolerance to it: the least
};

/// Of two questions with the same A, B and C; each has its D and its unit. Throws DataError for shapes that do not fit.
ProductDifference difference_of(const ProductQuestion& first, const ProductQuestion& second,
                                const std::optional<Tolerance>& tolerance);

std::string difference_text(const ProductDifference& difference);
/// {"verdict", "explained_by": [D1's way, D2's way], "of_bound": {"largest", "median"}, "elements": {"differ", "of"},
/// "tolerance_of_bound": {"least", "median"}}.
std::string difference_json(const ProductDifference& difference);

}  // namespace ulp
