#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/matrix.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

Shape pooled_shape(const char* name, const Tensor& x, Index window) {
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

/// The windows of one row of outputs, `count` beside each other: top receives the largest of each (the first of equal
/// ones, or the first NaN), best its place in the plane, where the windows' first row begins at `start`. Window by
/// window the processor could not foresee which number wins.
void pool_row(const Real* from, Index width, Index window, Index count, Index start, Real* top, std::int32_t* best) {
    for (Index o = 0; o < count; ++o) {
        top[o] = from[o * window];
        best[o] = static_cast<std::int32_t>(start + o * window);
    }
    for (Index ky = 0; ky < window; ++ky) {
        for (Index kx = ky == 0 ? 1 : 0; kx < window; ++kx) {
            const Index offset = ky * width + kx;
            for (Index o = 0; o < count; ++o) {
                const Real x = from[offset + o * window];
                const Real old = top[o];
                const bool wins = (x > old) | ((x != x) & (old == old));  // without a branch
                top[o] = wins ? x : old;
                best[o] = wins ? static_cast<std::int32_t>(start + offset + o * window) : best[o];
            }
        }
    }
}

}  // namespace

Var max_pool2d(Var x, Index window) {
    const Shape shape = pooled_shape("max_pool2d", x.value(), window);
    const Operation op("max_pool2d", {x});
    x = op.input(0);
    auto y = Tensor::unset(shape);
    Storage<std::int32_t> winner(static_cast<std::size_t>(y.size()));  // its place in the plane of the input
    const Tensor& in = x.value();
    const Index width = in.dim(3);
    const Index area = in.dim(2) * width;
    const Index pooled = shape[2] * shape[3];
    in_parallel(shape[0] * shape[1], 4 * area, [&](Index first, Index last) {
        for (Index plane = first; plane < last; ++plane) {
            for (Index oy = 0; oy < shape[2]; ++oy) {
                const Index row = oy * window * width;
                const Index o = plane * pooled + oy * shape[3];
                pool_row(in.data() + plane * area + row, width, window, shape[3], row, y.data() + o, winner.data() + o);
            }
        }
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=, winner = std::move(winner)](const Tensor& dy, const Tensor&) {
        auto dx = Tensor::unset(x.shape(), dy.format());
        in_parallel(dy.size() / pooled, 4 * area, [&](Index first, Index last) {
            for (Index plane = first; plane < last; ++plane) {
                Real* to = dx.data() + plane * area;
                std::fill_n(to, area, Real{0});
                for (Index o = plane * pooled; o < (plane + 1) * pooled; ++o) {
                    to[winner[static_cast<std::size_t>(o)]] = dy[o];  // windows do not overlap
                }
            }
        });
        tape->accumulate(x, std::move(dx));
    });
}

Var avg_pool2d(Var x, Index window) {
    const Shape shape = pooled_shape("avg_pool2d", x.value(), window);
    const Operation op("avg_pool2d", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    const auto area = static_cast<double>(window * window);
    Tensor y(shape);
    with_steps(compute, [&](const auto& s) {
        each_pooled(x.shape(), shape, window, [&](Index o, Index i) { y[o] = s.add(y[o], x.value()[i]); });
        for (Real& v : y.values()) v = s.div(v, s.round(area));
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor&) {
        Tensor dx(x.shape());
        with_steps(compute, [&](const auto& s) {
            each_pooled(x.shape(), dy.shape(), window, [&](Index o, Index i) { dx[i] = s.div(dy[o], s.round(area)); });
        });
        dx.set_format(compute.format);
        tape->accumulate(x, std::move(dx));
    });
}

}  // namespace ulp::inline ULPLAB_MODE
