// Operands that a faulty kernel may have multiplied in place of the given ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/analysis/product_explanation.hpp"

namespace ulp {

/// One hypothesis. Where `keeps_pieces`, kernels that split k may have kept the lengths of their pieces.
template <class Real>
struct ProductFault {
    std::string text;          // "the last 8 of k are missing"
    std::int64_t missing = 0;  // of k
    std::int64_t piece = 0;    // > 0: the length of the stretch, which may be a piece of k
    std::function<ProductOperands<Real>(const ProductOperands<Real>&)> applied{};
};

/// The hypotheses that the sums of D do not rule out, the likeliest first: stretches of k left out or multiplied twice
/// (where the difference to the exact D is theirs within `tolerance`, row by row), C left out, A or B read in the other
/// memory order, scales of the next block or none, an accumulator that was not cleared.
template <class Real>
std::vector<ProductFault<Real>> suspected_faults(const BasicProductQuestion<Real>& question,
                                                 const std::vector<double>& tolerance);

}  // namespace ulp
