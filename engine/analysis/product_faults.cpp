#include "engine/analysis/product_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace ulp {
namespace {

constexpr std::size_t most_stretches = 4;  // of k and of a kind, that are followed up
constexpr Index most_elements = 24;        // of D, by which stretches are judged

/// k in [first, last).
struct Stretch {
    Index first, last;
    [[nodiscard]] Index length() const { return last - first; }
};

/// Sums over the first k products of some elements of D, and what D has beyond its sum.
class Residuals {
  public:
    template <class Real>
    Residuals(const BasicProductQuestion<Real>& q, const std::vector<double>& exact,
              const std::vector<double>& tolerance)
        : k_(q.a.cols()) {
        const double alpha = q.epilogue ? q.epilogue->alpha : 1;
        const Index count = std::min(most_elements, q.d.size());
        for (Index e = 0; e < count; ++e) {
            const Index at = (2 * e + 1) * q.d.size() / (2 * count);
            const auto place = static_cast<std::size_t>(at);
            const Index i = at / q.d.cols(), j = at % q.d.cols();
            if (!std::isfinite(q.d.data()[at]) || !std::isfinite(exact[place])) continue;
            Element element{{0}, static_cast<double>(q.d.data()[at]) - exact[place], 2 * tolerance[place]};
            for (Index x = 0; x < k_; ++x) {
                const double scale = q.scaled ? scale_at(q, i, x, j) : 1;
                const double product = static_cast<double>(q.a(i, x)) * static_cast<double>(q.b(x, j));
                element.sums.push_back(element.sums.back() + alpha * scale * product);
            }
            elements_.push_back(std::move(element));
        }
    }

    /// Stretches of k that, `times` more, explain what D has beyond its sums: ends first, then beginnings, then those
    /// of whole eights within; of each kind the nearest.
    [[nodiscard]] std::vector<Stretch> fitting(double times) const {
        Nearest ends, beginnings, within;
        for (Index first = k_ - 1; first >= (times > 0 ? 0 : 1); --first) attempt({first, k_}, times, ends);
        for (Index last = 1; last < k_; ++last) attempt({0, last}, times, beginnings);
        const Index step = k_ <= 1024 ? 4 : 8;
        for (Index first = step; first < k_; first += step) {
            for (Index last = first + step; last < k_; last += step) attempt({first, last}, times, within);
        }
        std::vector<Stretch> found;
        for (const Nearest* kind : {&ends, &beginnings, &within}) {
            for (const auto& [distance, stretch] : *kind) found.push_back(stretch);
        }
        return found;
    }

  private:
    struct Element {
        std::vector<double> sums;
        double residual;
        double tolerance;
    };
    template <class Real>
    static double scale_at(const BasicProductQuestion<Real>& q, Index i, Index x, Index j) {
        const Index block = x / q.scaled->scale_block;
        const double of_a = q.a_scales ? std::abs(static_cast<double>((*q.a_scales)(i, block))) : 1;
        const double of_b = q.b_scales ? std::abs(static_cast<double>((*q.b_scales)(block, j))) : 1;
        return of_a * of_b;
    }
    using Nearest = std::vector<std::pair<double, Stretch>>;

    /// Keeps the stretch if no element is farther from it than its tolerance, and few stretches are nearer.
    void attempt(const Stretch& stretch, double times, Nearest& nearest) const {
        double distance = elements_.empty() ? 2 : 0;
        for (const Element& e : elements_) {
            const double sum =
                e.sums[static_cast<std::size_t>(stretch.last)] - e.sums[static_cast<std::size_t>(stretch.first)];
            distance = std::max(distance, std::abs(e.residual - times * sum) / e.tolerance);
            if (!(distance <= 1)) return;
        }
        const auto place = std::ranges::upper_bound(nearest, distance, {}, &std::pair<double, Stretch>::first);
        nearest.insert(place, {distance, stretch});
        if (nearest.size() > most_stretches) nearest.pop_back();
    }

    Index k_;
    std::vector<Element> elements_;
};

template <class Real>
using Operands = ProductOperands<Real>;

/// The columns of A and rows of B in the order of a list.
template <class Real>
Operands<Real> chosen_k(const Operands<Real>& given, const std::vector<Index>& list) {
    Operands<Real> operands = given;
    operands.a = given.a(Eigen::all, list);
    operands.b = given.b(list, Eigen::all);
    return operands;
}

std::vector<Index> without(Index k, const Stretch& stretch) {
    std::vector<Index> list;
    for (Index x = 0; x < k; ++x) {
        if (x < stretch.first || x >= stretch.last) list.push_back(x);
    }
    return list;
}

/// The stretch again, behind the first `before` of k.
std::vector<Index> with_twice(Index k, const Stretch& stretch, Index before) {
    std::vector<Index> list(static_cast<std::size_t>(k + stretch.length()));
    const auto again = list.begin() + before, rest = again + stretch.length();
    std::iota(list.begin(), again, Index{0});
    std::iota(again, rest, stretch.first);
    std::iota(rest, list.end(), before);
    return list;
}

/// "the last 8 of k", "k from 16 to 31".
std::string text_of(const Stretch& stretch, Index k) {
    if (stretch.last == k) return fmt::format("the last {} of k", stretch.length());
    if (stretch.first == 0) return fmt::format("the first {} of k", stretch.length());
    return fmt::format("k from {} to {}", stretch.first, stretch.last - 1);
}

/// The matrix as a program reads it that takes its memory for the other order.
template <class Real>
MatrixOf<Real> in_other_order(const MatrixOf<Real>& matrix) {
    return Eigen::Map<const MatrixOf<Real>>(matrix.data(), matrix.cols(), matrix.rows()).transpose();
}

template <class Real>
class Suspicions {
  public:
    Suspicions(const BasicProductQuestion<Real>& question, const std::vector<double>& tolerance)
        : q_(question), residuals_(question, exact_elements(question), tolerance) {}

    std::vector<ProductFault<Real>> take() {
        add_stretches();
        add_c_and_memory();
        if (q_.scaled) add_scales();
        add_stale_accumulators();
        return std::move(faults_);
    }

  private:
    template <class Change>
    void add(const std::string& text, const Change& change, std::int64_t missing = 0, std::int64_t piece = 0) {
        faults_.push_back({text, missing, piece, change});
    }

    void add_stretches() {
        const Index k = q_.a.cols();
        if (!q_.scaled) {
            for (const Stretch& stretch : residuals_.fitting(-1)) {
                const std::vector<Index> list = without(k, stretch);
                add(
                    text_of(stretch, k) + " are missing",
                    [list](const Operands<Real>& given) { return chosen_k(given, list); }, stretch.length(),
                    stretch.length());
            }
            for (const Stretch& stretch : residuals_.fitting(1)) {
                const bool all = stretch.length() == k;
                for (const Index before : {stretch.last, k}) {
                    const std::string text = text_of(stretch, k) + " are added twice" +
                                             (before == stretch.last ? "" : ", the second time last");
                    add(
                        all ? "the accumulator held the same product already" : text,
                        [list = with_twice(k, stretch, before)](const Operands<Real>& given) {
                            return chosen_k(given, list);
                        },
                        0, stretch.length());
                    if (stretch.last == k) break;
                }
            }
        }
        // In place of the others zeros: a unit that splits k keeps its pieces, a scale its block.
        for (const Stretch& stretch : residuals_.fitting(-1)) {
            add(
                text_of(stretch, k) + " are missing",
                [stretch](Operands<Real> given) {
                    given.a.middleCols(stretch.first, stretch.length()).setZero();
                    return given;
                },
                stretch.length());
        }
    }

    void add_c_and_memory() {
        if (q_.c) {
            add("C is left out", [](Operands<Real> given) {
                given.c.reset();
                return given;
            });
        }
        const auto memory = [&](const char* text, bool of_a, bool of_b) {
            add(text, [of_a, of_b](Operands<Real> given) {
                if (of_a) given.a = in_other_order<Real>(given.a);
                if (of_b) given.b = in_other_order<Real>(given.b);
                return given;
            });
        };
        memory("A is read transposed", true, false);
        memory("B is read transposed", false, true);
        memory("A and B are read transposed", true, true);
    }

    void add_scales() {
        const auto shifted = [](std::optional<MatrixOf<Real>>& scales, bool along_columns, Index by) {
            if (!scales) return;
            const MatrixOf<Real> old = *scales;
            const Index count = along_columns ? old.cols() : old.rows();
            for (Index x = 0; x < count; ++x) {
                const Index from = std::clamp<Index>(x + by, 0, count - 1);
                if (along_columns) scales->col(x) = old.col(from);
                if (!along_columns) scales->row(x) = old.row(from);
            }
        };
        for (const Index by : {1, -1}) {
            for (const auto& [name, of_a, of_b] :
                 {std::tuple{"A", true, false}, {"B", false, true}, {"A and B", true, true}}) {
                add(fmt::format("the scales of {} are those of the {} block", name, by > 0 ? "next" : "preceding"),
                    [=, of_a = of_a, of_b = of_b](Operands<Real> given) {  // clang 14 captures no structured binding
                        if (of_a) shifted(given.a_scales, true, by);
                        if (of_b) shifted(given.b_scales, false, by);
                        return given;
                    });
            }
        }
        for (const auto& [name, of_a, of_b] :
             {std::tuple{"A", true, false}, {"B", false, true}, {"A and B", true, true}}) {
            add(fmt::format("the scales of {} are left out", name), [of_a = of_a, of_b = of_b](Operands<Real> given) {
                if (of_a) given.a_scales.reset();
                if (of_b) given.b_scales.reset();
                return given;
            });
        }
    }

    /// D's own elements of the tile before, in which the sum began.
    void add_stale_accumulators() {
        if (q_.c || q_.epilogue) return;
        for (const Index tile : {8, 16, 32, 64, 128}) {
            for (const bool rows : {true, false}) {
                if (tile >= (rows ? q_.d.rows() : q_.d.cols())) continue;
                const MatrixOf<Real> d = q_.d;
                add(fmt::format("the accumulator began with the result {} {} before", tile, rows ? "rows" : "columns"),
                    [d, tile, rows](Operands<Real> given) {
                        MatrixOf<Real> c = MatrixOf<Real>::Zero(d.rows(), d.cols());
                        if (rows) c.bottomRows(d.rows() - tile) = d.topRows(d.rows() - tile);
                        if (!rows) c.rightCols(d.cols() - tile) = d.leftCols(d.cols() - tile);
                        given.c = c;
                        return given;
                    });
            }
        }
    }

    const BasicProductQuestion<Real>& q_;
    Residuals residuals_;
    std::vector<ProductFault<Real>> faults_;
};

}  // namespace

template <class Real>
std::vector<ProductFault<Real>> suspected_faults(const BasicProductQuestion<Real>& question,
                                                 const std::vector<double>& tolerance) {
    return Suspicions<Real>(question, tolerance).take();
}
template std::vector<ProductFault<float>> suspected_faults(const BasicProductQuestion<float>&,
                                                           const std::vector<double>&);
template std::vector<ProductFault<double>> suspected_faults(const BasicProductQuestion<double>&,
                                                            const std::vector<double>&);

}  // namespace ulp
