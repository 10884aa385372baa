#include "experiments/commands/units/product_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "softfloat/matrix_units/gemm.hpp"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

ElementBound whatever_the_operands(const BoundQuestion& q, const AprioriBound& bound, const Magnitude& m, double c) {
    ElementBound element{0, {}, m.plain};
    const double lifted = m.lifted + static_cast<double>(bound.sums - 1) * m.another_sum;
    if (q.order.epilogue) {
        const double products = std::max(0.0, lifted - std::abs(c));
        element.absolute = epilogue_bound(*q.order.epilogue, bound, products, std::abs(c)) + m.flushed;
    } else {
        element.absolute = bound.gamma * lifted + bound.eta + m.flushed;
    }
    // A sum of such magnitudes might leave the range, and an infinity has no error.
    const double top = static_cast<double>(std::ldexp(1.0, q.model.accumulator.emax() + 1)) *
                       (q.model.rounding == Rounding::toward_zero ? 1.0 : 1.0 - 0x1p-12);
    const bool fits = lifted * (1 + bound.gamma) + bound.eta < top;
    element.absolute = fits && std::isfinite(lifted) ? element.absolute : infinity;
    return element;
}

ElementBound bound_of(const BoundQuestion& q, const AprioriBound& bound, const BoundedDot& dot) {
    const Magnitude m = magnitude_of(q.model, dot.a, dot.b, dot.c);
    ElementBound element = whatever_the_operands(q, bound, m, dot.c);
    if (q.level == "magnitudes") element.absolute = magnitudes_bound(q.model, dot.a_codes, dot.b_codes, dot.c_code);
    if (q.level == "running") {
        element.interval = running_interval(q.model, dot.a_codes, dot.b_codes, dot.c_code);
        element.absolute = element.interval.bound();
    }
    return element;
}

double usual_loss(const TensorCoreModel& model, const AprioriBound& bound) {
    if (model.summation != Summation::fused || model.rounding != Rounding::toward_zero) return 0;
    const double kappa = 1 / (8 * std::log(2.0));
    const double cut = std::ldexp(1.0, -model.fraction_bits);
    const double kept = std::ldexp(1.0, -model.output_fraction_bits);
    return -kappa * static_cast<double>(bound.groups) * (kept - cut + model.group_size * cut);
}

double relative_tolerance(const TensorCoreModel& model) {
    return std::ldexp(1.0, -model.output_fraction_bits - (model.rounding == Rounding::toward_zero ? 0 : 1));
}

BoundedDot bounded_dot(const TensorCoreModel& model, const MatrixView& a, const MatrixView& b,
                       const std::optional<MatrixView>& c, std::int64_t i, std::int64_t j) {
    BoundedDot dot;
    for (std::int64_t x = 0; x < a.cols; ++x) {
        dot.a.push_back(static_cast<double>(a(i, x)));
        dot.b.push_back(static_cast<double>(b(x, j)));
        dot.a_codes.push_back(operand_code(model.a_format, a(i, x)));
        dot.b_codes.push_back(operand_code(model.b_format, b(x, j)));
    }
    if (c) dot.c = static_cast<double>((*c)(i, j));
    if (c) dot.c_code = operand_code(model.accumulator, (*c)(i, j));
    return dot;
}

}  // namespace ulp
