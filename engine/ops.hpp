// The operations. Every one follows the recipe (which formats, where it rounds) and can be differentiated.
// Shapes that do not fit throw std::invalid_argument.
#pragma once

#include <vector>

#include "engine/tape.hpp"

namespace ulp {

/// x (..., in) times weight (out, in) transposed, plus bias (out): (..., out). The accumulator's result is
/// rounded to the steps' format, the bias added as a step, and the sum stored. Products: forward x W^T, backward dY W
/// and dY^T x. The bias's gradient sums rows in ascending order.
template <class Real>
Var<Real> linear(Var<Real> x, Var<Real> weight, Var<Real> bias);

/// max(x, 0); the gradient at 0 is 0. NaN passes.
template <class Real>
Var<Real> relu(Var<Real> x);

/// Mean over the rows of -log softmax(logits)[label]: logits (rows, classes), one number. With m the row's maximum,
///
///     loss(row) = log(sum of exp(x_j - m), j ascending) - (x_label - m)
///     gradient  = (exp(x_j - m) / sum - [j = label]) * (upstream / rows)
///
/// each step rounded. Throws std::invalid_argument for an empty batch or a label outside the classes.
template <class Real>
Var<Real> cross_entropy(Var<Real> logits, const std::vector<int>& labels);

/// x times a constant, one rounding.
template <class Real>
Var<Real> scaled(Var<Real> x, double factor);

}  // namespace ulp
