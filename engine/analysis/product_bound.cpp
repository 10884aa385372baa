#include "engine/analysis/product_bound.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "softfloat/matrix_units/exact_sum.hpp"
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
    if (q.has_scales) return scaled_bound(q, dot);
    ElementBound element = apriori_of(q, bound, dot);
    if (q.level == "magnitudes") element.absolute = magnitudes_bound(q.model, dot.a_codes, dot.b_codes, dot.c_code);
    if (q.level == "running") {
        element.interval = running_interval(q.model, dot.a_codes, dot.b_codes, dot.c_code);
        element.absolute = element.interval.bound();
    }
    return element;
}

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double half_unit = 0x1p-24;            // of fp32: the relative error of a rounding to nearest
constexpr double least_half = 0x1p-150;          // the absolute one of subnormal results
constexpr int lowest_scale = -250;               // products of smaller scales are not bounded
constexpr double rounded_outward = 1 + 0x1p-40;  // more than the fp64 operations below lose

/// The product of both scales of a block, exact.
double scale_at(const BoundedDot<std::uint32_t>& dot, std::size_t block) {
    const auto of = [&](const std::vector<float>& scales) {
        return scales.empty() ? 1.0 : static_cast<double>(scales[block]);
    };
    return of(dot.a_scales) * of(dot.b_scales);
}

/// Partial sums t[p] of the blocks with scales s[p]: D = fl(... fl(c + fl(fl(s[0]) t[0])) ...).
ElementBound promoted_bound(const BoundQuestion& q, const BoundedDot<std::uint32_t>& dot) {
    const auto block = static_cast<std::size_t>(q.scale_block());
    const AprioriBound one = apriori_bound(q.model, q.scale_block());
    double error = 0, magnitude = q.order.epilogue ? 0 : std::abs(dot.c), additions = 0;
    for (std::size_t first = 0; first < dot.a.size(); first += block, ++additions) {
        const std::size_t count = std::min(block, dot.a.size() - first);
        const std::span a(dot.a.data() + first, count), b(dot.b.data() + first, count);
        const Magnitude m = magnitude_of(q.model, a, b, 0);
        const double scale = std::abs(scale_at(dot, first / block));
        double partial = bound_at(q.model, one, m);
        if (has_operand_bounds(q.model) && !dot.a_codes.empty()) {
            const std::span x(dot.a_codes.data() + first, count), y(dot.b_codes.data() + first, count);
            const ErrorInterval own = running_interval(q.model, x, y, 0);
            partial = own.finite ? std::min(partial, own.bound()) : infinite;
        }
        const bool fits = scale == 0 || (scale > std::ldexp(1.0, lowest_scale) && scale < std::ldexp(1.0, 127));
        if (!fits) return {infinite, {}, infinite};
        const double twice = (1 + half_unit) * (1 + half_unit);
        error += scale * (partial * twice + m.plain * (twice - 1)) + (m.plain + partial + 1) * 2 * least_half;
        magnitude += scale * m.plain;
    }
    const double growth = std::expm1(additions * std::log1p(half_unit));
    const double all = ((1 + growth) * error + growth * magnitude) * rounded_outward;
    ElementBound element{all, {}, magnitude};
    if (!(magnitude + all < std::ldexp(1.0, 127))) element.absolute = infinite;
    return element;
}

/// Instruction by instruction: every term and c are cut to F bits below the largest exponent, their sum is rounded.
ElementBound block_scaled_bound(const BoundQuestion& q, const BoundedDot<std::uint32_t>& dot) {
    const BlockScaledModel& model = *q.scaled;
    const TensorCoreModel& unit = model.unscaled;
    const auto instruction = static_cast<std::size_t>(unit.instruction_k);
    const auto step = static_cast<std::size_t>(model.exact_products);
    double largest_sum = q.order.epilogue ? 0 : std::abs(dot.c), error = 0;
    ElementBound element{0, {}, largest_sum};
    std::vector<std::uint32_t> a = dot.a_codes, b = dot.b_codes;
    const std::size_t whole = (a.size() + instruction - 1) / instruction * instruction;
    a.resize(whole), b.resize(whole);
    const auto scale_of = [&](const std::vector<float>& scales, std::size_t k) {
        const std::size_t block = k / static_cast<std::size_t>(model.scale_block);
        const float scale = block < scales.size() ? scales[block] : 1.0F;
        return decode_scale(model.scale_format, operand_code(model.scale_format, scale));
    };
    for (std::size_t first = 0; first < whole; first += instruction) {
        int largest = unit.policies.exponent_floor;
        BlockSpecials specials;
        double terms = 0;
        for (std::size_t k = first; k < first + instruction; k += step) {
            const Scale x = scale_of(dot.a_scales, k), y = scale_of(dot.b_scales, k);
            const BlockTerm term = scaled_term(model, a.data() + k, b.data() + k, x, y, specials);
            if (x.nan || y.nan || specials.any()) return {infinite, {}, infinite};
            largest = std::max(largest, term.exponent);
            terms += std::ldexp(static_cast<double>(term.significand), term.exponent - term.point);
        }
        if (largest_sum > 0) largest = std::max(largest, std::ilogb(largest_sum));
        const double count = static_cast<double>(instruction / step + 1);
        const double cut = count * std::ldexp(1.0, largest - unit.fraction_bits);
        const double sum = (largest_sum + terms + cut) * rounded_outward;
        const int exponent = sum > 0 ? std::max(std::ilogb(sum), unit.accumulator.emin()) : unit.accumulator.emin();
        const double own = cut + std::ldexp(1.0, exponent - unit.output_fraction_bits);
        error += own;
        largest_sum = sum + own;
        element.magnitude += terms;
        if (!(largest_sum < std::ldexp(1.0, unit.accumulator.emax()))) return {infinite, {}, infinite};
    }
    element.absolute = error * rounded_outward;
    return element;
}

}  // namespace

ElementBound scaled_bound(const BoundQuestion& q, const BoundedDot<std::uint32_t>& dot) {
    ElementBound element = q.scaled ? block_scaled_bound(q, dot) : promoted_bound(q, dot);
    if (q.order.epilogue) {
        element.absolute = epilogue_bound(*q.order.epilogue, element.absolute, element.magnitude, std::abs(dot.c));
    }
    return element;
}

double distance_from_exact(const BoundQuestion& q, const BoundedDot<std::uint64_t>& dot, std::uint64_t d) {
    return std::abs(exact_error(q.model, dot.a_codes, dot.b_codes, dot.c_code, d));
}

double distance_from_exact(const BoundQuestion& q, const BoundedDot<std::uint32_t>& dot, std::uint32_t d) {
    if (!q.has_scales) return std::abs(exact_error(q.model, dot.a_codes, dot.b_codes, dot.c_code, d));
    ExactSum sum;
    const auto block = static_cast<std::size_t>(q.scale_block());
    for (std::size_t k = 0; k < dot.a.size(); ++k) {
        const auto x = decode<std::uint64_t>(q.model.a_format, dot.a_codes[k]);
        const auto y = decode<std::uint64_t>(q.model.b_format, dot.b_codes[k]);
        const auto s = decode<std::uint64_t>(formats::fp64, std::bit_cast<std::uint64_t>(scale_at(dot, k / block)));
        if (x.kind != Kind::finite || y.kind != Kind::finite || s.kind != Kind::finite) continue;
        if (std::abs(scale_at(dot, k / block)) <= std::ldexp(1.0, lowest_scale)) continue;
        const int zeros = std::countr_zero(s.significand);  // what is left has at most 48 bits, of two fp32 numbers
        sum.add((x.sign != y.sign) == s.sign, x.exponent + y.exponent + s.exponent + zeros,
                x.significand * y.significand * (s.significand >> zeros));
    }
    auto addend = decode<std::uint64_t>(q.model.accumulator, dot.c_code);
    addend.sign = !addend.sign;
    sum.add(addend);
    sum.add(decode<std::uint64_t>(q.model.accumulator, d));
    const auto value = sum.value();
    return value.kind == Kind::zero ? 0 : std::ldexp(static_cast<double>(value.significand), value.exponent);
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
