#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/matrix.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

void require_labels(const Tensor& logits, const std::vector<int>& labels) {
    if (logits.rank() != 2 || logits.dim(0) != static_cast<Index>(labels.size())) {
        throw std::invalid_argument(fmt::format("cross_entropy: logits {} need one label a row, not {}",
                                                text_of(logits.shape()), labels.size()));
    }
    if (labels.empty()) throw std::invalid_argument("cross_entropy: the batch is empty");
    for (const int label : labels) {
        if (label < 0 || label >= logits.dim(1)) {
            throw std::invalid_argument(
                fmt::format("cross_entropy: label {} lies outside the {} classes", label, logits.dim(1)));
        }
    }
}

/// x divided by the number of terms, where the loss is their mean.
template <class Steps>
Real reduced(const Steps& s, Real x, Index terms, Reduction reduction) {
    return reduction == Reduction::mean ? s.div(x, s.round(static_cast<double>(terms))) : x;
}

/// One row: its probabilities into p; returns its loss.
template <class Steps>
Real row_loss(const Steps& s, std::span<const Real> x, std::size_t label, std::span<Real> p) {
    const Real top = *std::max_element(x.begin(), x.end());
    for (std::size_t j = 0; j < x.size(); ++j) p[j] = s.sub(x[j], top);
    s.exp(p, p);
    Real sum = 0;
    for (const Real term : p) sum = s.add(sum, term);
    for (Real& probability : p) probability = s.div(probability, sum);
    return s.sub(s.log(sum), s.sub(x[label], top));
}

}  // namespace

Reduction reduction_by_name(std::string_view name) {
    if (name == "mean") return Reduction::mean;
    if (name == "sum") return Reduction::sum;
    throw std::invalid_argument(fmt::format("no reduction '{}' of a loss; there are mean, sum", name));
}

Var cross_entropy(Var logits, const std::vector<int>& labels, Reduction reduction) {
    require_labels(logits.value(), labels);
    const Operation op("cross_entropy", {logits});
    logits = op.input(0);
    const Index rows = logits.dim(0);
    const Index classes = logits.dim(1);
    const ComputeFormat compute = op.precision().compute;
    auto probabilities = Tensor::unset(logits.shape());
    Tensor loss(Shape{});
    const auto row_of = [classes](auto& tensor, Index i) {
        return tensor.values().subspan(static_cast<std::size_t>(i * classes), static_cast<std::size_t>(classes));
    };
    with_steps(compute, [&](const auto& s) {
        std::vector<Real> losses(static_cast<std::size_t>(rows));
        in_parallel(rows, 16 * classes, [&](Index first, Index last) {
            for (Index i = first; i < last; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const auto label = static_cast<std::size_t>(labels[at]);
                losses[at] = row_loss(s, row_of(logits.value(), i), label, row_of(probabilities, i));
            }
        });
        Real sum = 0;
        for (const Real row : losses) sum = s.add(sum, row);
        loss[0] = reduced(s, sum, rows, reduction);
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(loss), [=, p = std::move(probabilities)](const Tensor& dy, const Tensor&) {
        auto dx = Tensor::unset(p.shape());
        with_steps(compute, [&](const auto& s) {
            const Real upstream = reduced(s, dy[0], rows, reduction);
            in_parallel(rows, 4 * classes, [&](Index first, Index last) {
                for (Index i = first; i < last; ++i) {
                    for (Index j = 0; j < classes; ++j) {
                        const bool hit = labels[static_cast<std::size_t>(i)] == j;
                        const Real p_ij = p[i * classes + j];
                        dx[i * classes + j] = s.mul(hit ? s.sub(p_ij, Real{1}) : p_ij, upstream);
                    }
                }
            });
        });
        dx.set_format(compute.format);
        tape->accumulate(logits, std::move(dx));
    });
}

Var mse(Var x, const Tensor& target, Reduction reduction) {
    if (x.shape() != target.shape() || target.empty()) {
        throw std::invalid_argument(
            fmt::format("mse: x {} needs a target of its own shape, which holds something, not {}", text_of(x.shape()),
                        text_of(target.shape())));
    }
    const Operation op("mse", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    auto difference = Tensor::unset(target.shape());
    Tensor loss(Shape{});
    with_steps(compute, [&](const auto& s) {
        const Tensor& values = x.value();
        Real sum = 0;
        for (Index i = 0; i < target.size(); ++i) {
            const Real d = s.sub(values[i], s.round(static_cast<double>(target[i])));
            sum = s.add(sum, s.mul(d, d));
            difference[i] = d;
        }
        loss[0] = reduced(s, sum, target.size(), reduction);
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(loss), [=, difference = std::move(difference)](const Tensor& dy, const Tensor&) {
        auto dx = Tensor::unset(difference.shape());
        with_steps(compute, [&](const auto& s) {
            const Real upstream = reduced(s, s.mul(dy[0], 2), dx.size(), reduction);
            for (Index i = 0; i < dx.size(); ++i) dx[i] = s.mul(difference[i], upstream);
        });
        dx.set_format(compute.format);
        tape->accumulate(x, std::move(dx));
    });
}

Var bce_with_logits(Var x, const Tensor& target, Reduction reduction) {
    if (x.shape() != target.shape() || target.empty()) {
        throw std::invalid_argument(
            fmt::format("bce_with_logits: x {} needs a target of its own shape, which holds something, not {}",
                        text_of(x.shape()), text_of(target.shape())));
    }
    const Operation op("bce_with_logits", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    Tensor loss(Shape{});
    with_steps(compute, [&](const auto& s) {
        Real sum = 0;
        for (Index i = 0; i < target.size(); ++i) {
            // max(x, 0) - x t + log(1 + exp(-|x|))
            const Real v = x.value()[i];
            const Real linear_part = s.sub(v > 0 ? v : Real{0}, s.mul(v, s.round(static_cast<double>(target[i]))));
            sum = s.add(sum, s.add(linear_part, s.log1p(s.exp(v > 0 ? -v : v))));
        }
        loss[0] = reduced(s, sum, target.size(), reduction);
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(loss), [=](const Tensor& dy, const Tensor&) {
        Tensor dx(x.shape());
        with_steps(compute, [&](const auto& s) {
            const Real upstream = reduced(s, dy[0], target.size(), reduction);
            for (Index i = 0; i < dx.size(); ++i) {
                const Real t = s.round(static_cast<double>(target[i]));
                dx[i] = s.mul(s.sub(s.sigmoid(x.value()[i]), t), upstream);
            }
        });
        dx.set_format(compute.format);
        tape->accumulate(x, std::move(dx));
    });
}

namespace {

void require_rows(std::string_view name, const Tensor& x) {
    if (x.rank() < 1 || x.dim(-1) < 1)
        throw std::invalid_argument(fmt::format("{}: {} has no rows", name, text_of(x.shape())));
}

/// A row's maximum m and the sum of exp(x - m), ascending; e receives the exponentials.
template <class Steps>
std::pair<Real, Real> max_and_sum(const Steps& s, std::span<const Real> x, std::span<Real> e) {
    const Real top = *std::max_element(x.begin(), x.end());
    for (std::size_t j = 0; j < x.size(); ++j) e[j] = s.sub(x[j], top);
    s.exp(e, e);
    Real sum = 0;
    for (const Real term : e) sum = s.add(sum, term);
    return {top, sum};
}

/// Row by row, on all threads: f(s, row of x, row of y, where the rows begin).
template <class Function>
Tensor by_rows(const Tensor& x, const ComputeFormat& compute, const Function& f) {
    auto y = Tensor::unset(x.shape());
    const Index n = x.dim(-1);
    const auto width = static_cast<std::size_t>(n);
    with_steps(compute, [&](const auto& s) {
        in_parallel(x.size() / n, 16 * n, [&](Index first, Index last) {
            for (Index i = first * n; i < last * n; i += n) {
                f(s, std::span<const Real>(x.data() + i, width), std::span<Real>(y.data() + i, width), i);
            }
        });
    });
    y.set_format(compute.format);
    return y;
}

}  // namespace

Var softmax(Var x) {
    require_rows("softmax", x.value());
    const Operation op("softmax", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    Tensor y = by_rows(x.value(), compute, [](const auto& s, std::span<const Real> in, std::span<Real> out, Index) {
        const Real sum = max_and_sum(s, in, out).second;
        for (Real& p : out) p = s.div(p, sum);
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor& result) {
        // dx = y (dy - sum of y dy)
        const auto gradient = [&](const auto& s, std::span<const Real> g, std::span<Real> out, Index start) {
            const Real* p = result.data() + start;
            Real sum = 0;
            for (std::size_t j = 0; j < g.size(); ++j) sum = s.add(sum, s.mul(p[j], g[j]));
            for (std::size_t j = 0; j < g.size(); ++j) out[j] = s.mul(p[j], s.sub(g[j], sum));
        };
        tape->accumulate(x, by_rows(dy, compute, gradient));
    });
}

Var log_softmax(Var x) {
    require_rows("log_softmax", x.value());
    const Operation op("log_softmax", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    Tensor y = by_rows(x.value(), compute, [](const auto& s, std::span<const Real> in, std::span<Real> out, Index) {
        const auto [top, sum] = max_and_sum(s, in, out);
        const Real log_sum = s.log(sum);
        for (std::size_t j = 0; j < in.size(); ++j) out[j] = s.sub(s.sub(in[j], top), log_sum);
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor& result) {
        // dx = dy - exp(y) sum of dy
        const auto gradient = [&](const auto& s, std::span<const Real> g, std::span<Real> out, Index start) {
            s.exp(result.values().subspan(static_cast<std::size_t>(start), g.size()), out);
            Real sum = 0;
            for (const Real upstream : g) sum = s.add(sum, upstream);
            for (std::size_t j = 0; j < g.size(); ++j) out[j] = s.sub(g[j], s.mul(out[j], sum));
        };
        tape->accumulate(x, by_rows(dy, compute, gradient));
    });
}

namespace {

/// Sets what the mask hides: row i of each square shows places up to i.
void hide_later(Tensor& squares, Real with) {
    const Index n = squares.dim(-1);
    in_parallel(n > 0 ? squares.size() / n : 0, n, [&](Index first, Index last) {
        for (Index row = first; row < last; ++row) {
            std::fill(squares.data() + row * n + row % n + 1, squares.data() + (row + 1) * n, with);
        }
    });
}

}  // namespace

Var causal_mask(Var scores) {
    scores = scores.tape->stored(scores);
    const Index n = scores.dim(-1);
    if (scores.value().rank() < 2 || scores.dim(-2) != n) {
        throw std::invalid_argument(fmt::format("causal_mask: {} does not end in a square", text_of(scores.shape())));
    }
    Tensor y = scores.value();
    hide_later(y, -std::numeric_limits<Real>::infinity());
    Tape* tape = scores.tape;
    return tape->push("causal_mask", std::move(y), tape->needs_gradient(scores), [=](const Tensor& dy, const Tensor&) {
        Tensor dx = dy;
        hide_later(dx, Real{0});
        tape->accumulate(scores, std::move(dx));
    });
}

}  // namespace ulp::inline ULPLAB_MODE
