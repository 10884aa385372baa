#include "engine/tape/pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/tape/ops.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

constexpr double root_half = 0.70710678118654752440;
constexpr double density_at_0 = 0.39894228040143267794;  // of the standard normal distribution: 1/sqrt(2 pi)

/// The cosines and sines of the angles of `time` places, (time, width / 2) each.
std::array<Tensor, 2> rotations(Index time, Index width, double base, const FloatFormat& format) {
    std::array<Tensor, 2> made = {Tensor({time, width / 2}), Tensor({time, width / 2})};
    for (Index i = 0; i < width / 2; ++i) {
        const double exponent = -2 * static_cast<double>(i) / static_cast<double>(width);
        const auto frequency = static_cast<Real>(step::exp(exponent * step::log(base)));
        for (Index place = 0; place < time; ++place) {
            const Real angle = static_cast<Real>(place) * frequency;
            made[0][place * (width / 2) + i] = step::cos(angle);
            made[1][place * (width / 2) + i] = step::sin(angle);
        }
    }
    for (Tensor& each : made) each.round_to_format(format);
    return made;
}

/// Every pair of x turned by its angle, or back.
Tensor turned(const Tensor& x, const std::array<Tensor, 2>& by, bool back, bool adjacent,
              const ComputeFormat& compute) {
    auto y = Tensor::unset(x.shape());
    const Index half = x.dim(-1) / 2;
    with_steps(compute, [&](const auto& s) {
        in_parallel(x.rows_of(2 * half), 8 * half, [&](Index first, Index last) {
            for (Index row = first; row < last; ++row) {
                const Index angles = row % x.dim(-2) * half;
                for (Index i = 0; i < half; ++i) {
                    const Index a = row * 2 * half + (adjacent ? 2 * i : i);
                    const Index b = adjacent ? a + 1 : a + half;
                    const Real cos = by[0][angles + i];
                    const Real sin = back ? -by[1][angles + i] : by[1][angles + i];
                    y[a] = s.sub(s.mul(x[a], cos), s.mul(x[b], sin));
                    y[b] = s.add(s.mul(x[b], cos), s.mul(x[a], sin));
                }
            }
        });
    });
    y.set_format(compute.format);
    return y;
}

}  // namespace

Var rotary(Var x, const RotaryOptions& options) {
    if (x.value().rank() < 2 || x.dim(-1) % 2 != 0 || !(options.base > 1)) {
        throw std::invalid_argument(
            fmt::format("rotary: x {} is not (..., time, even width), or the base {} is not above 1",
                        text_of(x.shape()), options.base));
    }
    const Operation op("rotary", {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    const auto angles = rotations(x.dim(-2), x.dim(-1), options.base, op.precision().input);
    Tape* tape = &op.tape();
    return op.finish(turned(x.value(), angles, false, options.adjacent, compute),
                     [=, adjacent = options.adjacent](const Tensor& dy, const Tensor&) {
                         tape->accumulate(x, turned(dy, angles, true, adjacent, compute));
                     });
}

Var relu(Var x) {
    return pointwise(
        "relu", x, [](const auto&, Real v) { return v <= 0 ? Real{0} : v; },
        [](const auto&, Real v, Real, Real dy) { return v <= 0 ? Real{0} : dy; });
}

Var leaky_relu(Var x, double slope) {
    return pointwise(
        "leaky_relu", x, [slope](const auto& s, Real v) { return v > 0 ? v : s.mul(s.round(slope), v); },
        [slope](const auto& s, Real v, Real, Real dy) { return v > 0 ? dy : s.mul(s.round(slope), dy); });
}

Var sigmoid(Var x) {
    return pointwise(
        "sigmoid", x, [](const auto& s, std::span<const Real> v, std::span<Real> y) { s.sigmoid(v, y); },
        [](const auto& s, Real, Real y, Real dy) { return s.mul(dy, s.mul(y, s.sub(1, y))); });
}

Var tanh(Var x) {
    return pointwise(
        "tanh", x, [](const auto& s, std::span<const Real> v, std::span<Real> y) { s.tanh(v, y); },
        [](const auto& s, Real, Real y, Real dy) { return s.mul(dy, s.sub(1, s.mul(y, y))); });
}

Var gelu(Var x) {
    using In = std::span<const Real>;
    using Out = std::span<Real>;
    // out = the normal distribution function at v, (1 + erf(v / sqrt(2))) / 2.
    const auto below = [](const auto& s, In v, Out out) {
        const Real scale = s.round(root_half);
        const Real half = s.round(0.5);
        for (std::size_t i = 0; i < v.size(); ++i) out[i] = s.mul(v[i], scale);
        s.erf(out, out);
        for (Real& y : out) y = s.mul(half, s.add(1, y));
    };
    return pointwise(
        "gelu", x,
        [=](const auto& s, In v, Out y) {
            below(s, v, y);
            for (std::size_t i = 0; i < v.size(); ++i) y[i] = s.mul(v[i], y[i]);
        },
        [=](const auto& s, In v, In, In dy, Out dx) {
            std::array<Real, largest_piece> memory;
            const Out density = Out(memory).first(v.size());
            const Real minus_half = s.round(-0.5);
            const Real at_0 = s.round(density_at_0);
            for (std::size_t i = 0; i < v.size(); ++i) density[i] = s.mul(minus_half, s.mul(v[i], v[i]));
            s.exp(density, density);
            below(s, v, dx);
            for (std::size_t i = 0; i < v.size(); ++i) {
                dx[i] = s.mul(dy[i], s.add(dx[i], s.mul(v[i], s.mul(at_0, density[i]))));
            }
        });
}

Var silu(Var x) {
    using In = std::span<const Real>;
    using Out = std::span<Real>;
    return pointwise(
        "silu", x,
        [](const auto& s, In v, Out y) {
            s.sigmoid(v, y);
            for (std::size_t i = 0; i < v.size(); ++i) y[i] = s.mul(v[i], y[i]);
        },
        [](const auto& s, In v, In, In dy, Out dx) {
            s.sigmoid(v, dx);
            for (std::size_t i = 0; i < v.size(); ++i) {
                const Real p = dx[i];
                dx[i] = s.mul(s.mul(dy[i], p), s.add(1, s.mul(v[i], s.sub(1, p))));
            }
        });
}

Var scaled(Var x, double factor) {
    return pointwise(
        "scale", x, [factor](const auto& s, Real v) { return s.mul(v, s.round(factor)); },
        [factor](const auto& s, Real, Real, Real dy) { return s.mul(dy, s.round(factor)); });
}

void require_suffix(std::string_view name, const Tensor& a, const Tensor& b) {
    const Shape& x = a.shape();
    const Shape& y = b.shape();
    if (y.size() <= x.size() && std::equal(y.rbegin(), y.rend(), x.rbegin())) return;
    throw std::invalid_argument(
        fmt::format("{}: {} fits neither {} nor its last dimensions", name, text_of(y), text_of(x)));
}

Tensor summed_to(const Shape& shape, Tensor gradient, const ComputeFormat& compute) {
    if (gradient.shape() == shape) return gradient;
    Tensor sum(shape);
    with_steps(compute, [&](const auto& s) {
        in_parallel(sum.size(), 4 * gradient.rows_of(sum.size()), [&](Index first, Index last) {
            for (Index i = 0; i < gradient.size(); i += sum.size()) {
                for (Index j = first; j < last; ++j) sum[j] = s.add(sum[j], gradient[i + j]);
            }
        });
    });
    sum.set_format(compute.format);
    return sum;
}

Var add(Var a, Var b) {
    return pointwise(
        "add", a, b, [](const auto& s, Real x, Real y) { return s.add(x, y); }, PassOn{}, PassOn{});
}

Var subtract(Var a, Var b) {
    return pointwise(
        "subtract", a, b, [](const auto& s, Real x, Real y) { return s.sub(x, y); }, PassOn{},
        [](const auto&, Real, Real, Real dz) { return -dz; });
}

Var multiply(Var a, Var b) {
    return pointwise(
        "multiply", a, b, [](const auto& s, Real x, Real y) { return s.mul(x, y); },
        [](const auto& s, Real, Real y, Real dz) { return s.mul(dz, y); },
        [](const auto& s, Real x, Real, Real dz) { return s.mul(dz, x); });
}

}  // namespace ulp::inline ULPLAB_MODE
