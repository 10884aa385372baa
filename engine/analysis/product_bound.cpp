#include "engine/analysis/product_bound.hpp"

#include <cmath>

#include "softfloat/matrix_units/gemm.hpp"

namespace ulp {
ElementBound whatever_the_operands(const BoundQuestion& q, const AprioriBound& bound, const Magnitude& m, double c) {
    ElementBound element{0, {}, m.plain};
    const double sum = bound_at(q.model, bound, m);
    element.absolute = sum;
    if (q.order.epilogue) {
        const FloatFormat format = q.model.accumulator == formats::fp64 ? formats::fp64 : formats::fp32;
        element.absolute = epilogue_bound(*q.order.epilogue, sum, m.plain, std::abs(c), format);
    }
    return element;
}

namespace {

template <class Code>
ElementBound apriori_of(const BoundQuestion& q, const AprioriBound& bound, const BoundedDot<Code>& dot) {
    // In an epilogue c is not the unit's.
    const Magnitude m = magnitude_of(q.model, dot.a, dot.b, q.order.epilogue ? 0 : dot.c);
    return whatever_the_operands(q, bound, m, dot.c);
}

}  // namespace

ElementBound bound_of(const BoundQuestion& q, const AprioriBound& bound, const BoundedDot<std::uint64_t>& dot) {
    return apriori_of(q, bound, dot);
}

ElementBound bound_of(const BoundQuestion& q, const AprioriBound& bound, const BoundedDot<std::uint32_t>& dot) {
    ElementBound element = apriori_of(q, bound, dot);
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

template <class Real>
BoundedDot<CodeOf<Real>> bounded_dot(const TensorCoreModel& model, const BasicMatrixView<const Real>& a,
                                     const BasicMatrixView<const Real>& b,
                                     const std::optional<BasicMatrixView<const Real>>& c, std::int64_t i,
                                     std::int64_t j) {
    BoundedDot<CodeOf<Real>> dot;
    for (std::int64_t x = 0; x < a.cols; ++x) {
        dot.a.push_back(static_cast<double>(a(i, x)));
        dot.b.push_back(static_cast<double>(b(x, j)));
        dot.a_codes.push_back(code_of(model.a_format, a(i, x)));
        dot.b_codes.push_back(code_of(model.b_format, b(x, j)));
    }
    if (c) dot.c = static_cast<double>((*c)(i, j));
    if (c) dot.c_code = code_of(model.accumulator, (*c)(i, j));
    return dot;
}
template BoundedDot<std::uint32_t> bounded_dot(const TensorCoreModel&, const MatrixView&, const MatrixView&,
                                               const std::optional<MatrixView>&, std::int64_t, std::int64_t);
using Fp64View = BasicMatrixView<const double>;
template BoundedDot<std::uint64_t> bounded_dot(const TensorCoreModel&, const Fp64View&, const Fp64View&,
                                               const std::optional<Fp64View>&, std::int64_t, std::int64_t);

}  // namespace ulp
