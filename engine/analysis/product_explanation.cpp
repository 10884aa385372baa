#include "engine/analysis/product_explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>

#include "engine/analysis/product_bound.hpp"
#include "engine/analysis/product_search.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/round.hpp"

namespace ulp {

namespace {

constexpr Index chunk_rows = 16;         // of D, after each of which a way that differs is given up
constexpr std::size_t others_whole = 8;  // ways that do not give all of D

std::vector<Index> walked(LaneOrder walk, Index k) {
    std::vector<Index> list;
    for (Index i = 0; i < k; ++i) list.push_back(lane_at(walk, static_cast<int>(k), static_cast<int>(i)));
    return list;
}
template <class Real>
void require_shapes(const BasicProductQuestion<Real>& q) {
    if (q.a.cols() != q.b.rows()) {
        throw DataError(fmt::format("A is {} x {} and B is {} x {}: the inner sizes differ", q.a.rows(), q.a.cols(),
                                    q.b.rows(), q.b.cols()));
    }
    const auto require = [&](const MatrixOf<Real>& matrix, const char* name) {
        if (matrix.rows() == q.a.rows() && matrix.cols() == q.b.cols()) return;
        throw DataError(fmt::format("{} is {} x {}, the product of A and B {} x {}", name, matrix.rows(), matrix.cols(),
                                    q.a.rows(), q.b.cols()));
    };
    require(q.d, "D");
    if (q.c) require(*q.c, "C");
    if (q.d.size() == 0) throw DataError("D has no element: there is nothing to explain");
    if (q.epilogue && q.epilogue->alpha == 0) {
        throw DataError(
            "alpha is 0, so D = beta * C whatever multiplies A and B: there is nothing to explain; give a D with "
            "another alpha");
    }
}

/// Whether the way gives all of D: computed by rows until it does not.
template <class Real>
bool gives_all(const ProductComputation& way, const ProductOperands<Real>& operands, const MatrixOf<Real>& d) {
    for (Index first = 0; first < d.rows(); first += chunk_rows) {
        std::vector<Index> rows;
        for (Index i = first; i < std::min(first + chunk_rows, d.rows()); ++i) rows.push_back(i);
        const MatrixOf<Real> chunk = product_of(way, part_of(operands, rows, all_of(d.cols())));
        const MatrixOf<Real> wanted = d(rows, Eigen::all);
        if (matches_of<Real>(rounded_to(way.output, chunk), wanted) != wanted.size()) return false;
    }
    return true;
}

/// Ways of the same bits together, in the order in which they come.
template <class Real>
std::vector<BasicProductCandidate<Real>> classes_of(const ProductSearch<Real>& search,
                                                    const BasicProductQuestion<Real>& question) {
    std::vector<BasicProductCandidate<Real>> classes;
    std::map<std::vector<WordOf<Real>>, std::size_t> known;
    std::size_t others = 0;
    for (const SearchedWay& tried : search.ways) {
        if (question.before_each_way) question.before_each_way();
        const ProductOperands<Real> operands =
            tried.fault == 0 ? question.operands() : search.faults[tried.fault - 1].applied(question.operands());
        MatrixOf<Real> d;
        if (gives_all(tried.way, operands, question.d)) {
            d = question.d;
        } else if (++others <= others_whole) {
            d = rounded_to<Real>(tried.way.output, product_of(tried.way, operands));
        } else {
            continue;
        }
        const auto [place, is_new] = known.try_emplace(words_of(d), classes.size());
        if (is_new) classes.push_back({{}, matches_of(d, question.d), std::move(d)});
        classes[place->second].ways.push_back(tried.way);
    }
    std::ranges::stable_sort(classes, [](const auto& x, const auto& y) { return x.matches > y.matches; });
    return classes;
}

template <class Real>
ProductVerdict verdict_of(const BasicProductQuestion<Real>& question,
                          const BasicProductExplanation<Real>& explanation) {
    if (explanation.agree() > 0) {
        const bool as_given = explanation.candidates.front().ways.front().fault.empty();
        return as_given ? ProductVerdict::explained : ProductVerdict::fault;
    }
    const std::vector<double> exact = exact_elements(question);
    const std::vector<double> bounds = bounds_of_elements(question);
    for (std::size_t e = 0; e < bounds.size(); ++e) {
        const auto d = static_cast<double>(question.d.data()[e]);
        if (!std::isinf(bounds[e]) && !(std::abs(d - exact[e]) <= bounds[e])) return ProductVerdict::outside_bound;
    }
    return ProductVerdict::within_bound;
}

template <class Real>
MatrixOf<Real> random_matrix(const FloatFormat& format, DataClass data, Index rows, Index cols, std::uint64_t seed) {
    MatrixOf<Real> matrix(rows, cols);
    for (Index i = 0; i < matrix.size(); ++i) {
        const std::uint64_t code = random_code(format, data, random_word(seed, static_cast<std::uint64_t>(i)));
        if constexpr (std::is_same_v<Real, double>) {
            matrix.data()[i] = std::bit_cast<double>(code);
        } else {
            matrix.data()[i] = in_fp32_container(format, static_cast<std::uint32_t>(code));
        }
    }
    return matrix;
}

void multiply(const ProductComputation& way, const ProductOperands<float>& operands, const GemmProblem& problem) {
    BlockScales scales;
    if (operands.a_scales) scales.a = *operands.a_scales;
    if (operands.b_scales) scales.b = *operands.b_scales;
    if (!way.scaled) {
        if (scales.any() && way.walk != LaneOrder::ascending) throw std::invalid_argument("blocks of k are in order");
        return soft_product(way.model, way.order, problem, scales);
    }
    if (way.order != ProductOrder{}) throw std::invalid_argument("units with block scales add in ascending k");
    gemm(*way.scaled, {problem, scales.a, scales.b});
}
void multiply(const ProductComputation& way, const ProductOperands<double>&, const Fp64Problem& problem) {
    fp64_product(way.model, way.order, problem);
}

/// The narrowest format that holds all of D, if it is narrower than the container.
template <class Real>
std::optional<FloatFormat> format_of_d(const BasicProductQuestion<Real>& question) {
    for (const FloatFormat& format : {formats::bf16, formats::fp16, formats::fp32}) {
        if (format.storage_bits() < static_cast<int>(sizeof(Real)) * 8 && lies_on(question.d, format)) return format;
    }
    return std::nullopt;
}

/// Of element (i, j): its operands in fp64, with their scales.
template <class Real>
struct ElementOperands {
    std::vector<double> a, b;
    double c = 0;

    void take(const BasicProductQuestion<Real>& q, Index i, Index j) {
        a.clear();
        b.clear();
        c = q.c ? static_cast<double>((*q.c)(i, j)) : 0;
        for (Index x = 0; x < q.a.cols(); ++x) {
            a.push_back(static_cast<double>(q.a(i, x)));
            b.push_back(static_cast<double>(q.b(x, j)));
            if (!q.scaled && q.promote_every == 0) continue;
            const Index block = x / (q.scaled ? q.scaled->scale_block : q.promote_every);
            if (q.a_scales) a.back() *= static_cast<double>((*q.a_scales)(i, block));
            if (q.b_scales) b.back() *= static_cast<double>((*q.b_scales)(block, j));
        }
    }
};

/// fn(element, place) for every element of D.
template <class Real, class Fn>
void each_element(const BasicProductQuestion<Real>& q, const Fn& fn) {
    ElementOperands<Real> operands;
    for (Index i = 0; i < q.d.rows(); ++i) {
        for (Index j = 0; j < q.d.cols(); ++j) {
            operands.take(q, i, j);
            fn(operands, static_cast<std::size_t>(i * q.d.cols() + j));
        }
    }
}

/// The bound of sums of k in any order of at most 64 pieces, or promoted every 32 k.
template <class Real>
AprioriBound bound_of_any_order(const BasicProductQuestion<Real>& q) {
    const TensorCoreModel& model = q.model;
    const std::int64_t k = q.a.cols();
    AprioriBound bound = apriori_bound(model, k + model.instruction_k);
    const double u = std::is_same_v<Real, double> ? 0x1p-53 : 0x1p-24;
    const double additions = most_pieces_of_k + static_cast<double>(k) / 32;
    bound.gamma += additions * u * (1 + additions * u) * (1 + bound.gamma) + static_cast<double>(k) * 0x1p-52;
    bound.eta = additions * (bound.eta + 0x1p-148) * (1 + bound.gamma);
    bound.sums = q.epilogue ? 1 : most_pieces_of_k;
    bound.drops_any = bound.drops_sums;
    return bound;
}

/// Of an element of a product with scales that are multiplied in at each promotion.
template <class Real>
double promoted_bound_of(const BasicProductQuestion<Real>& q, std::size_t place) {
    const auto n = static_cast<std::size_t>(q.d.cols());
    const auto i = static_cast<Index>(place / n), j = static_cast<Index>(place % n);
    const BoundQuestion question{
        .model = q.model, .order = {.promote_every = q.promote_every}, .level = "magnitudes", .has_scales = true};
    BoundedDot<std::uint32_t> dot;
    for (Index x = 0; x < q.a.cols(); ++x) {
        dot.a.push_back(static_cast<double>(q.a(i, x)));
        dot.b.push_back(static_cast<double>(q.b(x, j)));
    }
    dot.c = q.c && !q.epilogue ? static_cast<double>((*q.c)(i, j)) : 0;
    for (Index p = 0; q.a_scales && p < q.a_scales->cols(); ++p) {
        dot.a_scales.push_back(static_cast<float>((*q.a_scales)(i, p)));
    }
    for (Index p = 0; q.b_scales && p < q.b_scales->rows(); ++p) {
        dot.b_scales.push_back(static_cast<float>((*q.b_scales)(p, j)));
    }
    const ElementBound bound = scaled_bound(question, dot);
    return bound.absolute + bound.magnitude * static_cast<double>(q.a.cols()) * 0x1p-52;
}

}  // namespace

template <class Real>
MatrixOf<Real> product_of(const ProductComputation& way, const ProductOperands<Real>& operands) {
    MatrixOf<Real> d(operands.a.rows(), operands.b.cols());
    const bool reads_c = way.reads_c && operands.c.has_value();
    if (reads_c && !lies_on(*operands.c, way.model.accumulator)) {
        throw std::invalid_argument("C is not the accumulator's");
    }
    const auto view_of_c = reads_c ? BasicMatrixView<const Real>(*operands.c) : BasicMatrixView<const Real>();
    if (way.walk == LaneOrder::ascending) {
        multiply(way, operands, ProductProblem<Real>{operands.a, operands.b, view_of_c, d});
    } else {
        const std::vector<Index> order = walked(way.walk, operands.a.cols());
        const MatrixOf<Real> left = operands.a(Eigen::all, order);
        const MatrixOf<Real> right = operands.b(order, Eigen::all);
        multiply(way, operands, ProductProblem<Real>{left, right, view_of_c, d});
    }
    return d;
}

template <class Real>
std::vector<double> exact_elements(const BasicProductQuestion<Real>& q) {
    std::vector<double> exact(static_cast<std::size_t>(q.d.size()));
    const LinearEpilogue epilogue = q.epilogue.value_or(LinearEpilogue{1, q.c ? 1.0 : 0.0});
    each_element(q, [&](const ElementOperands<Real>& dot, std::size_t place) {
        double sum = 0;
        for (std::size_t x = 0; x < dot.a.size(); ++x) sum += dot.a[x] * dot.b[x];
        exact[place] = epilogue.alpha * sum + (epilogue.beta == 0 ? 0 : epilogue.beta * dot.c);
    });
    return exact;
}

template <class Real>
std::vector<double> bounds_of_elements(const BasicProductQuestion<Real>& q, const ProductComputation* way) {
    AprioriBound bound;
    if (way == nullptr) {
        bound = bound_of_any_order(q);
    } else {
        ProductOrder order = way->order;
        order.epilogue.reset();
        bound = apriori_bound(way->model, q.a.cols(), order);
        bound.gamma += static_cast<double>(q.a.cols()) * 0x1p-52;
    }
    const std::optional<FloatFormat> output = format_of_d(q);
    const FloatFormat container = std::is_same_v<Real, double> ? formats::fp64 : formats::fp32;
    std::vector<double> bounds(static_cast<std::size_t>(q.d.size()));
    each_element(q, [&](const ElementOperands<Real>& dot, std::size_t place) {
        const Magnitude m = magnitude_of(q.model, dot.a, dot.b, q.epilogue ? 0 : dot.c);
        double absolute = bound_at(q.model, bound, m);
        if (q.scaled) {  // elements align as their formats' normal numbers do
            double lifted = std::abs(dot.c);
            const double a = std::ldexp(1.0, q.model.a_format.emin()), b = std::ldexp(1.0, q.model.b_format.emin());
            for (std::size_t x = 0; x < dot.a.size(); ++x) {
                lifted += std::max(std::abs(dot.a[x]), a) * std::max(std::abs(dot.b[x]), b);
            }
            absolute = bound.gamma * (lifted + m.plain) + bound.eta;
        }
        if (q.promote_every > 0) absolute = promoted_bound_of(q, place);
        double largest = m.plain + absolute;
        if (q.epilogue) {
            absolute = epilogue_bound(*q.epilogue, absolute, m.plain, std::abs(dot.c), container);
            largest = std::abs(q.epilogue->alpha) * largest + std::abs(q.epilogue->beta * dot.c);
        }
        if (output) {
            const double d = std::abs(static_cast<double>(q.d.data()[place]));
            absolute += std::ldexp(std::isfinite(d) ? std::min(d * 1.01, largest) : largest, -output->precision()) +
                        std::ldexp(1.0, output->smallest_exponent());
        }
        bounds[place] = absolute;
    });
    return bounds;
}

template <class Real>
BasicProductExplanation<Real> explain_product(const BasicProductQuestion<Real>& question) {
    require_shapes(question);
    BasicProductExplanation<Real> explanation;
    explanation.of = question.d.size();
    const ProductSearch<Real> search = search_product(question);
    explanation.tried = search.tried;
    explanation.tried_on = search.tried_on;
    explanation.estimated = search.estimated;
    explanation.candidates = classes_of(search, question);
    explanation.verdict = verdict_of(question, explanation);
    return explanation;
}

template <class Real>
SeparatingOperands<Real> separate(const std::vector<ProductComputation>& ways, std::int64_t k) {
    constexpr Index side = 16;
    constexpr std::array data = {DataClass::wide, DataClass::ordinary, DataClass::cancelling, DataClass::subnormal};
    SeparatingOperands<Real> best;
    std::optional<FloatFormat> narrowest;  // of the accumulators, if C is read
    for (const ProductComputation& way : ways) {
        const FloatFormat& format = way.model.accumulator;
        const bool narrower = !narrowest || format.storage_bits() < narrowest->storage_bits();
        if (std::ranges::any_of(ways, &ProductComputation::reads_c) && narrower) narrowest = format;
    }
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const DataClass kind = data.at(seed % data.size());
        SeparatingOperands<Real> operands{random_matrix<Real>(ways.front().model.a_format, kind, side, k, 2 * seed),
                                          random_matrix<Real>(ways.front().model.b_format, kind, k, side, 2 * seed + 1),
                                          {},
                                          {}};
        if (narrowest) operands.c = random_matrix<Real>(*narrowest, kind, side, side, 1000 + seed);
        const ProductOperands<Real> given{operands.a, operands.b, operands.c};
        std::map<std::vector<WordOf<Real>>, std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            groups[words_of(rounded_to<Real>(ways[i].output, product_of(ways[i], given)))].push_back(i);
        }
        for (auto& [words, group] : groups) operands.groups.push_back(std::move(group));
        std::ranges::sort(operands.groups);
        if (operands.groups.size() > best.groups.size()) best = std::move(operands);
        if (best.groups.size() == ways.size()) break;
    }
    return best;
}

#define ULP_EXPLAIN(Real)                                                                                          \
    template MatrixOf<Real> product_of(const ProductComputation&, const ProductOperands<Real>&);                   \
    template std::vector<double> exact_elements(const BasicProductQuestion<Real>&);                                \
    template std::vector<double> bounds_of_elements(const BasicProductQuestion<Real>&, const ProductComputation*); \
    template BasicProductExplanation<Real> explain_product(const BasicProductQuestion<Real>&);                     \
    template SeparatingOperands<Real> separate(const std::vector<ProductComputation>&, std::int64_t)
ULP_EXPLAIN(float);
ULP_EXPLAIN(double);
#undef ULP_EXPLAIN

}  // namespace ulp
