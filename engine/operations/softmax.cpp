#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/operations/operation.hpp"
#include "engine/operations/ops.hpp"

namespace ulp {
namespace {

template <class Real>
void require_rows(std::string_view name, const BasicTensor<Real>& x) {
    if (x.rank() < 1 || x.dim(-1) < 1)
        throw std::invalid_argument(fmt::format("{}: {} has no rows", name, text_of(x.shape())));
}

/// A row's maximum m and the sum of exp(x - m), ascending; e receives the exponentials where it is not null.
template <class Real, class Steps>
std::pair<Real, Real> max_and_sum(const Steps& s, const Real* x, Index n, Real* e) {
    const Real top = *std::max_element(x, x + n);
    Real sum = 0;
    for (Index j = 0; j < n; ++j) {
        const Real term = s.exp(s.sub(x[j], top));
        if (e != nullptr) e[j] = term;
        sum = s.add(sum, term);
    }
    return {top, sum};
}

/// Row by row: f(s, row of x, row of y).
template <class Real, class Function>
BasicTensor<Real> by_rows(const BasicTensor<Real>& x, const ComputeFormat& compute, const Function& f) {
    BasicTensor<Real> y(x.shape());
    const Index n = x.dim(-1);
    with_steps<Real>(compute, [&](const auto& s) {
        for (Index i = 0; i < x.size(); i += n) f(s, x.data() + i, y.data() + i);
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
    const Index n = x.dim(-1);
    const ComputeFormat compute = op.precision().compute;
    BasicTensor<Real> y = by_rows(x.value(), compute, [n](const auto& s, const Real* in, Real* out) {
        const Real sum = max_and_sum(s, in, n, out).second;
        for (Index j = 0; j < n; ++j) out[j] = s.div(out[j], sum);
    });
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>& result) {
        // dx = y (dy - sum of y dy)
        BasicTensor<Real> dx = by_rows(dy, compute, [&](const auto& s, const Real* g, Real* out) {
            const Real* p = result.data() + (g - dy.data());
            Real sum = 0;
            for (Index j = 0; j < n; ++j) sum = s.add(sum, s.mul(p[j], g[j]));
            for (Index j = 0; j < n; ++j) out[j] = s.mul(p[j], s.sub(g[j], sum));
        });
        tape->accumulate(x, std::move(dx));
    });
}

template <class Real>
BasicVar<Real> log_softmax(BasicVar<Real> x) {
    require_rows("log_softmax", x.value());
    const BasicOperation<Real> op("log_softmax", {x});
    x = op.input(0);
    const Index n = x.dim(-1);
    const ComputeFormat compute = op.precision().compute;
    BasicTensor<Real> y = by_rows(x.value(), compute, [n](const auto& s, const Real* in, Real* out) {
        const auto [top, sum] = max_and_sum(s, in, n, static_cast<Real*>(nullptr));
        const Real log_sum = s.log(sum);
        for (Index j = 0; j < n; ++j) out[j] = s.sub(s.sub(in[j], top), log_sum);
    });
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>& result) {
        // dx = dy - exp(y) sum of dy
        BasicTensor<Real> dx = by_rows(dy, compute, [&](const auto& s, const Real* g, Real* out) {
            const Real* log_p = result.data() + (g - dy.data());
            Real sum = 0;
            for (Index j = 0; j < n; ++j) sum = s.add(sum, g[j]);
            for (Index j = 0; j < n; ++j) out[j] = s.sub(g[j], s.mul(s.exp(log_p[j]), sum));
        });
        tape->accumulate(x, std::move(dx));
    });
}

template <class Real>
BasicVar<Real> causal_mask(BasicVar<Real> scores) {
    scores = scores.tape->stored(scores);
    const Index n = scores.dim(-1);
    if (scores.value().rank() < 2 || scores.dim(-2) != n) {
        throw std::invalid_argument(fmt::format("causal_mask: {} does not end in a square", text_of(scores.shape())));
    }
    BasicTensor<Real> y = scores.value();
    const auto later = [n](Index i) { return i % n > i / n % n; };
    for (Index i = 0; i < y.size(); ++i) {
        if (later(i)) y[i] = -std::numeric_limits<Real>::infinity();
    }
    BasicTape<Real>* tape = scores.tape;
    return tape->push("causal_mask", std::move(y), tape->needs_gradient(scores),
                      [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) {
                          BasicTensor<Real> dx = dy;
                          for (Index i = 0; i < dx.size(); ++i) {
                              if (later(i)) dx[i] = 0;
                          }
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
