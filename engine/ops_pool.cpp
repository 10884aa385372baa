#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "engine/operation.hpp"
#include "engine/ops.hpp"

namespace ulp {
namespace {

template <class Real>
Shape pooled_shape(const char* name, const Tensor<Real>& x, Index window) {
    if (x.rank() == 4 && window >= 1 && x.dim(2) >= window && x.dim(3) >= window) {
        return {x.dim(0), x.dim(1), x.dim(2) / window, x.dim(3) / window};
    }
    throw std::invalid_argument(
        fmt::format("{}: {} holds no window of {} x {}", name, text_of(x.shape()), window, window));
}

/// Calls f(output, input) for every pixel of every window, windows in order, rows first inside.
template <class Function>
void each_pooled(const Shape& in, const Shape& out, Index window, const Function& f) {
    Index o = 0;
    for (Index plane = 0; plane < out[0] * out[1]; ++plane) {
        for (Index oy = 0; oy < out[2]; ++oy) {
            for (Index ox = 0; ox < out[3]; ++ox, ++o) {
                for (Index ky = 0; ky < window; ++ky) {
                    for (Index kx = 0; kx < window; ++kx) {
                        f(o, (plane * in[2] + oy * window + ky) * in[3] + ox * window + kx);
                    }
                }
            }
        }
    }
}

}  // namespace

template <class Real>
Var<Real> max_pool2d(Var<Real> x, Index window) {
    const Shape shape = pooled_shape("max_pool2d", x.value(), window);
    const Operation<Real> op("max_pool2d", {x});
    x = op.input(0);
    Tensor<Real> y(shape);
    std::vector<Index> winner(static_cast<std::size_t>(y.size()), -1);
    const Tensor<Real>& in = x.value();
    each_pooled(in.shape(), shape, window, [&](Index o, Index i) {
        Index& best = winner[static_cast<std::size_t>(o)];
        if (best < 0 || in[i] > in[best] || (std::isnan(in[i]) && !std::isnan(in[best]))) best = i;
    });
    for (Index o = 0; o < y.size(); ++o) y[o] = in[winner[static_cast<std::size_t>(o)]];
    Tape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=, winner = std::move(winner)](const Tensor<Real>& dy, const Tensor<Real>&) {
        Tensor<Real> dx(x.shape(), dy.format());
        for (Index o = 0; o < dy.size(); ++o)
            dx[winner[static_cast<std::size_t>(o)]] = dy[o];  // windows do not overlap
        tape->accumulate(x, std::move(dx));
    });
}

template <class Real>
Var<Real> avg_pool2d(Var<Real> x, Index window) {
    const Shape shape = pooled_shape("avg_pool2d", x.value(), window);
    const Operation<Real> op("avg_pool2d", {x});
    x = op.input(0);
    const FloatFormat compute = op.precision().compute;
    const auto area = static_cast<double>(window * window);
    Tensor<Real> y(shape);
    with_steps<Real>(compute, [&](const auto& s) {
        each_pooled(x.shape(), shape, window, [&](Index o, Index i) { y[o] = s.add(y[o], x.value()[i]); });
        for (Real& v : y.values()) v = s.div(v, s.round(area));
    });
    Tape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor<Real>& dy, const Tensor<Real>&) {
        Tensor<Real> dx(x.shape());
        with_steps<Real>(compute, [&](const auto& s) {
            each_pooled(x.shape(), dy.shape(), window, [&](Index o, Index i) { dx[i] = s.div(dy[o], s.round(area)); });
        });
        dx.set_format(compute);
        tape->accumulate(x, std::move(dx));
    });
}

#define ULP_INSTANTIATE(Real)                        \
    template Var<Real> max_pool2d(Var<Real>, Index); \
    template Var<Real> avg_pool2d(Var<Real>, Index);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp
