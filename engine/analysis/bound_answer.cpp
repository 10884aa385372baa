#include "engine/analysis/bound_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {
namespace {

using Json = nlohmann::ordered_json;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t most_k = (std::int64_t{1} << 20) - 1;  // of exact sums

/// What |D - reference| may be beside the unit's own bound, from the reference's side.
template <class Code>
double of_reference(BoundReference reference, const BoundQuestion& other, const AprioriBound& bound,
                    const BoundedDot<Code>& dot, double magnitude, ErrorInterval* interval) {
    if (reference == BoundReference::exact) return 0;
    if (reference == BoundReference::fp64_sums) {
        // Products of numbers of up to fp32 are exact; those of fp64 are rounded, too.
        const bool rounds_products = std::is_same_v<Code, std::uint64_t>;
        const auto count = static_cast<double>(dot.a.size());
        const double k = (count + (rounds_products ? 1 : 0)) * 0x1p-53;
        return k * magnitude / (1 - k) + (rounds_products ? count * 0x1p-1074 : 0);
    }
    const ElementBound element = bound_of(other, bound, dot);
    *interval = element.interval;
    return element.absolute;
}

void require_same_operands(const BoundQuestion& q, const BoundQuestion& other, bool has_c) {
    const auto types = [](const TensorCoreModel& m) {
        return fmt::format("{} x {} -> {}", name_of(m.a_format), name_of(m.b_format), name_of(m.accumulator));
    };
    const TensorCoreModel &m = q.model, &o = other.model;
    const bool same = m.a_format == o.a_format && m.b_format == o.b_format;
    if (same && (m.accumulator == o.accumulator || !has_c)) return;
    throw UsageError(
        fmt::format("--against names a unit of {}, and --unit one of {}: give one with the same operands{}", types(o),
                    types(m), has_c ? " and, beside C, the same accumulator" : ""));
}

}  // namespace

TensorCoreModel bounded_model(const UnitRow& row) {
    if (const auto* model = row.as<TensorCoreModel>()) return *model;
    if (const auto* scaled = row.as<BlockScaledModel>()) return scaled->unscaled;
    throw UsageError(row.key() + " has no bound: integer units are exact until they wrap");
}

BoundQuestion bound_question(const UnitRow& row, const ProductOrder& order, const std::string& level, bool has_scales) {
    BoundQuestion q{bounded_model(row), order, false, level};
    if (const auto* scaled = row.as<BlockScaledModel>()) q.scaled = *scaled;
    q.has_scales = has_scales || q.scaled.has_value();
    const TensorCoreModel& m = q.model;
    if (q.scaled && order != ProductOrder{}) throw UsageError(row.key() + " has no order: it adds in ascending k");
    if (q.scaled || !has_scales) return q;
    if (m.accumulator != formats::fp32 || std::max(m.a_format.storage_bits(), m.b_format.storage_bits()) > 8) {
        throw UsageError(row.key() + " has no bound with scales: it is for operands of up to 8 bits and fp32 results");
    }
    if (q.order.promote_every == 0) q.order.promote_every = usual_scale_block;
    require_fitting(m, q.order);
    return q;
}

void settle_level(BoundQuestion& q, const std::string& unit, bool has_operands) {
    q.ordered = q.order != ProductOrder{};
    if (q.has_scales) {
        if (!has_operands) throw UsageError(unit + " is bounded with its scales; give the files --a and --b");
        const std::string own = q.scaled || !has_operand_bounds(q.model) ? "magnitudes" : "running";
        if (!q.level.empty() && q.level != own) {
            throw UsageError("--level " + q.level + " is not that of " + unit + " with scales, which is " + own);
        }
        q.level = own;
        return;
    }
    const bool looks = has_operand_bounds(q.model) && !q.ordered;
    if (q.level.empty()) q.level = has_operands && looks ? "running" : "apriori";
    if (q.level == "apriori") return;
    if (!has_operands) throw UsageError("--level " + q.level + " looks at operands; give the files --a and --b");
    if (!looks) {
        throw UsageError("--level " + q.level + " is of one chain of instructions of a unit without fp64 operands; " +
                         unit + (q.ordered ? " in this order" : "") + " has --level apriori");
    }
}

template <class Real>
BoundAnswer bound_of_product(const BoundQuestion& q, const BasicBoundedProduct<Real>& product,
                             std::vector<double>& bounds) {
    const BasicMatrixView<const Real>&a = product.a, &b = product.b;
    const std::optional<BasicMatrixView<const Real>>&c = product.c, &d = product.d;
    const BoundReference reference_kind = product.reference;
    if (a.cols > most_k) throw UsageError(fmt::format("k is {}; bounds are of k up to {}", a.cols, most_k));
    const bool another = reference_kind == BoundReference::unit;
    const BoundQuestion& other = another ? *product.other : q;
    require_same_operands(q, other, c.has_value());
    if (q.has_scales) {
        if (reference_kind != BoundReference::exact) throw UsageError("--against is exact for products with scales");
        require_scales(product.scales, a.rows, b.cols, a.cols, q.scale_block());
    }
    const auto apriori_of = [&](const BoundQuestion& of) {
        return of.has_scales ? AprioriBound{} : apriori_bound(of.model, a.cols, of.order);
    };
    const AprioriBound apriori = apriori_of(q), apriori_of_other = apriori_of(other);
    const auto n = static_cast<std::size_t>(b.cols);
    const std::size_t size = static_cast<std::size_t>(a.rows) * n;
    bounds.assign(size, 0.0);
    std::vector<double> magnitudes(size), biases(size), excess(size), ratios(size, 0.0);
    const double rtol = product.nonnegative && !q.has_scales ? apriori.gamma : relative_tolerance(q.model);
    std::atomic<bool> stopped = false;
    for_each_index(a.rows, worth_threads(a.rows > 1), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < b.cols; ++j) {
            if (product.stops && (stopped || product.stops())) stopped = true;
            if (stopped) return;
            const std::size_t e = static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j);
            BoundedDot<CodeOf<Real>> dot = bounded_dot<Real>(q.model, a, b, c, i, j);
            const MatrixView &of_a = product.scales.a, &of_b = product.scales.b;
            for (std::int64_t p = 0; of_a.data != nullptr && p < of_a.cols; ++p) dot.a_scales.push_back(of_a(i, p));
            for (std::int64_t p = 0; of_b.data != nullptr && p < of_b.rows; ++p) dot.b_scales.push_back(of_b(p, j));
            const ElementBound element = bound_of(q, apriori, dot);
            bounds[e] = element.absolute;
            magnitudes[e] = element.magnitude;
            biases[e] = element.interval.expected;
            ErrorInterval theirs;
            const double reference =
                of_reference(reference_kind, other, apriori_of_other, dot, element.magnitude, &theirs);
            double apart = element.absolute + reference;
            if (another && q.level == "running" && other.level == "running") {
                apart = std::max(element.interval.below + theirs.above, element.interval.above + theirs.below);
            }
            const double exact = q.order.epilogue ? 0 : distance_from_exact(q, dot, CodeOf<Real>{0});
            excess[e] = apart - rtol * std::max(0.0, exact - reference);
            if (d) {
                const Real given = (*d)(i, j);
                const double error =
                    std::isfinite(given) ? distance_from_exact(q, dot, code_of(q.model.accumulator, given)) : infinity;
                ratios[e] = error <= bounds[e] && (error == 0 || std::isinf(bounds[e])) ? 0 : error / bounds[e];
            }
        }
    });

    BoundAnswer answer{.level = q.level, .k = a.cols, .has_scales = q.has_scales, .apriori = apriori};
    double largest = -1;
    double relative = 0;
    for (std::size_t e = 0; e < size; ++e) {
        if (std::isinf(bounds[e])) {
            ++answer.unbounded;
            continue;
        }
        if (bounds[e] > largest) {
            largest = bounds[e];
            answer.at = {static_cast<std::int64_t>(e / n), static_cast<std::int64_t>(e % n)};
            answer.expected_bias = magnitudes[e] > 0 ? biases[e] / magnitudes[e] : 0;
        }
        if (magnitudes[e] > 0) relative = std::max(relative, bounds[e] / magnitudes[e]);
    }
    if (answer.at) {
        answer.max_absolute = largest;
        answer.max_relative = relative;
        answer.rtol = rtol;
        double most = 0;
        for (std::size_t e = 0; e < size; ++e) most = std::isinf(bounds[e]) ? most : std::max(most, excess[e]);
        answer.atol = most;
    }
    if (is_varied(q.model)) answer.expected_bias.reset();
    if (answer.unbounded > 0) answer.overflow = fmt::format("possible in {} of {} elements", answer.unbounded, size);
    if (d) {
        answer.violations = std::count_if(ratios.begin(), ratios.end(), [](double r) { return !(r <= 1); });
        for (const double r : ratios) answer.largest_ratio = std::max(answer.largest_ratio, r);
    }
    return answer;
}
template BoundAnswer bound_of_product(const BoundQuestion&, const BoundedProduct&, std::vector<double>&);
template BoundAnswer bound_of_product(const BoundQuestion&, const BasicBoundedProduct<double>&, std::vector<double>&);

BoundAnswer bound_of_sizes(const BoundQuestion& q, const BoundedSizes& sizes) {
    if (sizes.k < 0 || sizes.k > most_k) {
        throw UsageError(fmt::format("k is {}; bounds are of k from 0 to {}", sizes.k, most_k));
    }
    BoundAnswer answer{.level = q.level, .k = sizes.k, .apriori = apriori_bound(q.model, sizes.k, q.order)};
    const AprioriBound& bound = answer.apriori;
    const double relative = bound.gamma + (bound.drops_sums ? 1 : 0);
    answer.max_relative = relative;
    answer.expected_bias = sizes.nonnegative || is_varied(q.model) ? usual_loss(q.model, bound) : 0;
    if (sizes.nonnegative) answer.rtol = relative;
    if (sizes.nonnegative) answer.atol = bound.eta;
    if (!sizes.max_a || !sizes.max_b) {
        answer.overflow = "unknown without the largest magnitudes of A and B";
        return answer;
    }
    const std::vector<double> a(static_cast<std::size_t>(sizes.k), *sizes.max_a);
    const std::vector<double> b(static_cast<std::size_t>(sizes.k), *sizes.max_b);
    Magnitude m = magnitude_of(q.model, a, b, q.order.epilogue ? 0 : sizes.max_c.value_or(0));
    if (q.model.flush_subnormals || q.model.variation.flush_operands) {  // any operand may be one that is flushed
        m.unseen += static_cast<double>(sizes.k) * (std::ldexp(*sizes.max_b, q.model.a_format.emin()) +
                                                    std::ldexp(*sizes.max_a, q.model.b_format.emin()));
    }
    const ElementBound element = whatever_the_operands(q, bound, m, sizes.max_c.value_or(0));
    if (std::isinf(element.absolute)) {
        answer.overflow = "possible";
        return answer;
    }
    answer.max_absolute = element.absolute;
    if (sizes.nonnegative) return answer;
    answer.rtol = relative_tolerance(q.model);
    answer.atol = element.absolute;
    return answer;
}

BoundAnswer bound_of_scheme(const SchemePlan& plan, const Fp64Problem& product, bool judges,
                            std::vector<double>& bounds) {
    const std::int64_t m = product.m(), n = product.n(), k = product.k();
    BoundAnswer answer = bound_of_scheme(plan, BoundedSizes{k});
    answer.overflow = "excluded";
    bounds.assign(static_cast<std::size_t>(m * n), 0.0);
    Fp64Problem into = product;
    into.d = {bounds.data(), m, n};
    scheme_bounds(plan, into);
    answer.max_relative = 0;
    for (std::int64_t e = 0; e < m * n; ++e) {
        const double bound = bounds[static_cast<std::size_t>(e)];
        const std::int64_t i = e / n, j = e % n;
        if (judges) {
            const double error = std::isfinite(product.d(i, j)) ? std::abs(error_of(product, i, j)) : infinity;
            answer.violations = answer.violations.value_or(0) + (error <= bound ? 0 : 1);
            if (error > 0 && std::isfinite(bound)) answer.largest_ratio = std::max(answer.largest_ratio, error / bound);
        }
        answer.unbounded += std::isinf(bound) ? 1 : 0;
        if (std::isinf(bound)) continue;
        if (bound > answer.max_absolute.value_or(-1)) {
            answer.max_absolute = bound;
            answer.at = {i, j};
        }
        const double magnitude = magnitude_of(product, i, j);
        if (magnitude > 0) answer.max_relative = std::max(*answer.max_relative, bound / magnitude);
    }
    answer.atol = answer.max_absolute;
    answer.rtol = 0;
    if (answer.unbounded > 0) answer.overflow = fmt::format("possible in {} of {} elements", answer.unbounded, m * n);
    return answer;
}

BoundAnswer bound_of_scheme(const SchemePlan& plan, const BoundedSizes& sizes) {
    if (sizes.k < 0 || sizes.k > most_k) {
        throw UsageError(fmt::format("k is {}; bounds are of k from 0 to {}", sizes.k, most_k));
    }
    BoundAnswer answer{.level = "apriori", .k = sizes.k, .apriori = scheme_bound(plan, sizes.k)};
    answer.scheme = name_of(plan.scheme);
    answer.products = plan.products;
    answer.expected_bias.reset();
    answer.max_relative = answer.apriori.gamma;
    answer.overflow = "unknown without the largest magnitudes of A and B";
    if (!sizes.max_a || !sizes.max_b) return answer;
    const std::vector<double> a(static_cast<std::size_t>(sizes.k), *sizes.max_a);
    const std::vector<double> b(static_cast<std::size_t>(sizes.k), *sizes.max_b);
    const double c = sizes.max_c.value_or(0);
    double bound = 0;
    scheme_bounds(plan, {{a.data(), 1, sizes.k}, {b.data(), sizes.k, 1}, {&c, 1, 1}, {&bound, 1, 1}});
    answer.overflow = std::isinf(bound) ? "possible" : "excluded";
    if (std::isinf(bound)) return answer;
    // Smaller operands count as ones of the least exponent.
    const double least = plan.of_integers() ? 0 : 0x1p-126;
    const double s = static_cast<double>(sizes.k) * std::max(*sizes.max_a, least) * std::max(*sizes.max_b, least) + c;
    answer.max_absolute = (answer.apriori.gamma * s + answer.apriori.eta) * (1 + 0x1p-40);
    answer.atol = answer.max_absolute;
    answer.rtol = 0;
    return answer;
}

namespace {

Json or_null(const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); }

}  // namespace

std::string json_of(const std::string& unit, const BoundAnswer& x) {
    const BoundShares& s = x.apriori.shares;
    Json json = {{"model", unit},
                 {"k", x.k},
                 {"groups", x.apriori.groups},
                 {"gamma", x.has_scales ? Json(nullptr) : Json(x.apriori.gamma)},
                 {"eta", x.has_scales ? Json(nullptr) : Json(x.apriori.eta)},
                 {"shares",
                  {{"alignment", s.alignment},
                   {"rounding", s.rounding},
                   {"addend", s.addend},
                   {"pieces", s.pieces},
                   {"products", s.products}}},
                 {"level", x.level},
                 {"max_absolute", or_null(x.max_absolute)},
                 {"max_relative", or_null(x.max_relative)},
                 {"at", x.at ? Json{x.at->first, x.at->second} : Json(nullptr)},
                 {"expected_bias", or_null(x.expected_bias)},
                 {"overflow", x.overflow},
                 {"atol", or_null(x.atol)},
                 {"rtol", or_null(x.rtol)},
                 {"violations", x.violations ? Json(*x.violations) : Json(nullptr)}};
    if (!x.scheme.empty()) json.update({{"scheme", x.scheme}, {"products", x.products}});
    return json.dump(2);
}

}  // namespace ulp
