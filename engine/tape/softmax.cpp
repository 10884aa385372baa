#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/parallel.hpp"

namespace ulp {
namespace {

template <class Real>
void require_rows(std::string_view name, const BasicTensor<Real>& x) {
    if (x.rank() < 1 || x.dim(-1) < 1)
        throw std::invalid_argument(fmt::format("{}: {} has no rows", name, text_of(x.shape())));
}

/// A row's maximum m and the sum of exp(x - m), ascending; e receives the exponentials.
template <class Real, class Steps>
std::pair<Real, Real> max_and_sum(const Steps& s, std::span<const Real> x, std::span<Real> e) {
    const Real top = *std::max_element(x.begin(), x.end());
    for (std::size_t j = 0; j < x.size(); ++j) e[j] = s.sub(x[j], top);
    s.exp(e, e);
    Real sum = 0;
    for (const Real term : e) sum = s.add(sum, term);
    return {top, sum};
}

/// Row by row, on all threads: f(s, row of x, row of y, where the rows begin).
template <class Real, class Function>
BasicTensor<Real> by_rows(const BasicTensor<Real>& x, const ComputeFormat& compute, const Function& f) {
    auto y = BasicTensor<Real>::unset(x.shape());
    const Index n = x.dim(-1);
    const auto width = static_cast<std::size_t>(n);
    with_steps<Real>(compute, [&](const auto& s) {
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

template <class Real>
BasicVar<Real> softmax(BasicVar<Real> x) {
    require_rows("softmax", x.value());
    const BasicOperation<Real> op("softmax", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    BasicTensor<Real> y =
        by_rows(x.value(), compute, [](const auto& s, std::span<const Real> in, std::span<Real> out, Index) {
            const Real sum = max_and_sum(s, in, out).second;
            for (Real& p : out) p = s.div(p, sum);
        });
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>& result) {
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

template <class Real>
BasicVar<Real> log_softmax(BasicVar<Real> x) {
    require_rows("log_softmax", x.value());
    const BasicOperation<Real> op("log_softmax", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    BasicTensor<Real> y =
        by_rows(x.value(), compute, [](const auto& s, std::span<const Real> in, std::span<Real> out, Index) {
            const auto [top, sum] = max_and_sum(s, in, out);
            const Real log_sum = s.log(sum);
            for (std::size_t j = 0; j < in.size(); ++j) out[j] = s.sub(s.sub(in[j], top), log_sum);
        });
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>& result) {
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
template <class Real>
void hide_later(BasicTensor<Real>& squares, Real with) {
    const Index n = squares.dim(-1);
    in_parallel(n > 0 ? squares.size() / n : 0, n, [&](Index first, Index last) {
        for (Index row = first; row < last; ++row) {
            std::fill(squares.data() + row * n + row % n + 1, squares.data() + (row + 1) * n, with);
        }
    });
}

}  // namespace

template <class Real>
BasicVar<Real> causal_mask(BasicVar<Real> scores) {
    scores = scores.tape->stored(scores);
    const Index n = scores.dim(-1);
    if (scores.value().rank() < 2 || scores.dim(-2) != n) {
        throw std::invalid_argument(fmt::format("causal_mask: {} does not end in a square", text_of(scores.shape())));
    }
    BasicTensor<Real> y = scores.value();
    hide_later(y, -std::numeric_limits<Real>::infinity());
    BasicTape<Real>* tape = scores.tape;
    return tape->push("causal_mask", std::move(y), tape->needs_gradient(scores),
                      [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) {
                          BasicTensor<Real> dx = dy;
                          hide_later(dx, Real{0});
                          tape->accumulate(scores, std::move(dx));
                      });
}

#define ULP_INSTANTIATE(Real)                            \
    template BasicVar<Real> softmax(BasicVar<Real>);     \
    template BasicVar<Real> log_softmax(BasicVar<Real>); \
    template BasicVar<Real> causal_mask(BasicVar<Real>);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp
