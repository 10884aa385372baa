#include "experiments/commands/units/product_bound.hpp"

#include <cmath>

#include "softfloat/matrix_units/gemm.hpp"

namespace ulp {
ElementBound whatever_the_operands(const BoundQuestion& q, const AprioriBound& bound, const Magnitude& m, double c) {
    ElementBound element{0, {}, m.plain};
    const double sum = bound_at(q.model, bound, m);
    element.absolute = q.order.epilogue ? epilogue_bound(*q.order.epilogue, sum, m.plain, std::abs(c)) : sum;
    return element;
}

ElementBound bound_of(const BoundQuestion& q, const AprioriBound& bound, const BoundedDot& dot) {
    // In an epilogue c is not the unit's.
    const Magnitude m = magnitude_of(q.model, dot.a, dot.b, q.order.epilogue ? 0 : dot.c);
    ElementBound element = whatever_the_operands(q, bound, m, dot.c);
    if (q.level == "magnitudes") element.absolute = magnitudes_bound(q.model, dot.a_codes, dot.b_codes, dot.c_code);
    if (q.level == "running") {
        element.interval = running_interval(q.model, dot.a_codes, dot.b_codes, dot.c_code);
        element.absolute = element.interval.bound();
    }
    return element;
}

std::optional<double> usual_loss(const TensorCoreModel& model, const AprioriBound& bound) {
    if (is_varied(model)) return std::nullopt;
    if (model.summation != Summation::fused || model.rounding != Rounding::toward_zero) return 0;
    const double kappa = 1 / (8 * std::log(2.0));
    const double cut = std::ldexp(1.0, -model.fraction_bits);
    const double kept = std::ldexp(1.0, -model.output_fraction_bits);
    return -kappa * static_cast<double>(bound.groups) * (kept - cut + model.group_size * cut);
}

double relative_tolerance(const TensorCoreModel& model) {
    const bool nearest = model.rounding == Rounding::nearest_even || model.rounding == Rounding::nearest_away;
    return std::ldexp(1.0, -model.output_fraction_bits - (nearest ? 1 : 0));
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
