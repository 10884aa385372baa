#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/parallel.hpp"

namespace ulp {
namespace {

template <class Real>
void require_labels(const BasicTensor<Real>& logits, const std::vector<int>& labels) {
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
template <class Real, class Steps>
Real reduced(const Steps& s, Real x, Index terms, Reduction reduction) {
    return reduction == Reduction::mean ? s.div(x, s.round(static_cast<double>(terms))) : x;
}

/// One row: its probabilities into p; returns its loss.
template <class Real, class Steps>
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

template <class Real>
BasicVar<Real> cross_entropy(BasicVar<Real> logits, const std::vector<int>& labels, Reduction reduction) {
    require_labels(logits.value(), labels);
    const BasicOperation<Real> op("cross_entropy", {logits});
    logits = op.input(0);
    const Index rows = logits.dim(0);
    const Index classes = logits.dim(1);
    const ComputeFormat compute = op.precision().compute;
    auto probabilities = BasicTensor<Real>::unset(logits.shape());
    BasicTensor<Real> loss(Shape{});
    const auto row_of = [classes](auto& tensor, Index i) {
        return tensor.values().subspan(static_cast<std::size_t>(i * classes), static_cast<std::size_t>(classes));
    };
    with_steps<Real>(compute, [&](const auto& s) {
        std::vector<Real> losses(static_cast<std::size_t>(rows));
        in_parallel(rows, 16 * classes, [&](Index first, Index last) {
            for (Index i = first; i < last; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const auto label = static_cast<std::size_t>(labels[at]);
                losses[at] = row_loss<Real>(s, row_of(logits.value(), i), label, row_of(probabilities, i));
            }
        });
        Real sum = 0;
        for (const Real row : losses) sum = s.add(sum, row);
        loss[0] = reduced(s, sum, rows, reduction);
    });
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(loss),
                     [=, p = std::move(probabilities)](const BasicTensor<Real>& dy, const BasicTensor<Real>&) {
                         auto dx = BasicTensor<Real>::unset(p.shape());
                         with_steps<Real>(compute, [&](const auto& s) {
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

template <class Real>
BasicVar<Real> mse(BasicVar<Real> x, const BasicTensor<Real>& target, Reduction reduction) {
    if (x.shape() != target.shape() || target.empty()) {
        throw std::invalid_argument(
            fmt::format("mse: x {} needs a target of its own shape, which holds something, not {}", text_of(x.shape()),
                        text_of(target.shape())));
    }
    const BasicOperation<Real> op("mse", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    auto difference = BasicTensor<Real>::unset(target.shape());
    BasicTensor<Real> loss(Shape{});
    with_steps<Real>(compute, [&](const auto& s) {
        const BasicTensor<Real>& values = x.value();
        Real sum = 0;
        for (Index i = 0; i < target.size(); ++i) {
            const Real d = s.sub(values[i], s.round(static_cast<double>(target[i])));
            sum = s.add(sum, s.mul(d, d));
            difference[i] = d;
        }
        loss[0] = reduced(s, sum, target.size(), reduction);
    });
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(loss),
                     [=, difference = std::move(difference)](const BasicTensor<Real>& dy, const BasicTensor<Real>&) {
                         auto dx = BasicTensor<Real>::unset(difference.shape());
                         with_steps<Real>(compute, [&](const auto& s) {
                             const Real upstream = reduced(s, s.mul(dy[0], 2), dx.size(), reduction);
                             for (Index i = 0; i < dx.size(); ++i) dx[i] = s.mul(difference[i], upstream);
                         });
                         dx.set_format(compute.format);
                         tape->accumulate(x, std::move(dx));
                     });
}

template <class Real>
BasicVar<Real> bce_with_logits(BasicVar<Real> x, const BasicTensor<Real>& target, Reduction reduction) {
    if (x.shape() != target.shape() || target.empty()) {
        throw std::invalid_argument(
            fmt::format("bce_with_logits: x {} needs a target of its own shape, which holds "
                        "something, not {}",
                        text_of(x.shape()), text_of(target.shape())));
    }
    const BasicOperation<Real> op("bce_with_logits", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    BasicTensor<Real> loss(Shape{});
    with_steps<Real>(compute, [&](const auto& s) {
        Real sum = 0;
        for (Index i = 0; i < target.size(); ++i) {
            // max(x, 0) - x t + log(1 + exp(-|x|))
            const Real v = x.value()[i];
            const Real linear_part = s.sub(v > 0 ? v : Real{0}, s.mul(v, s.round(static_cast<double>(target[i]))));
            sum = s.add(sum, s.add(linear_part, s.log1p(s.exp(v > 0 ? -v : v))));
        }
        loss[0] = reduced(s, sum, target.size(), reduction);
    });
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(loss), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) {
        BasicTensor<Real> dx(x.shape());
        with_steps<Real>(compute, [&](const auto& s) {
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

#define ULP_INSTANTIATE(Real)                                                                  \
    template BasicVar<Real> cross_entropy(BasicVar<Real>, const std::vector<int>&, Reduction); \
    template BasicVar<Real> mse(BasicVar<Real>, const BasicTensor<Real>&, Reduction);          \
    template BasicVar<Real> bce_with_logits(BasicVar<Real>, const BasicTensor<Real>&, Reduction);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp
