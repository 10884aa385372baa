#include "engine/tape/pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/tape/ops.hpp"

namespace ulp {
namespace {

constexpr double root_half = 0.70710678118654752440;
constexpr double density_at_0 = 0.39894228040143267794;  // of the standard normal distribution: 1/sqrt(2 pi)

}  // namespace

template <class Real>
BasicVar<Real> relu(BasicVar<Real> x) {
    return pointwise(
        "relu", x, [](const auto&, Real v) { return v <= 0 ? Real{0} : v; },
        [](const auto&, Real v, Real, Real dy) { return v <= 0 ? Real{0} : dy; });
}

template <class Real>
BasicVar<Real> leaky_relu(BasicVar<Real> x, double slope) {
    return pointwise(
        "leaky_relu", x, [slope](const auto& s, Real v) { return v > 0 ? v : s.mul(s.round(slope), v); },
        [slope](const auto& s, Real v, Real, Real dy) { return v > 0 ? dy : s.mul(s.round(slope), dy); });
}

template <class Real>
BasicVar<Real> sigmoid(BasicVar<Real> x) {
    return pointwise(
        "sigmoid", x, [](const auto& s, std::span<const Real> v, std::span<Real> y) { s.sigmoid(v, y); },
        [](const auto& s, Real, Real y, Real dy) { return s.mul(dy, s.mul(y, s.sub(1, y))); });
}

template <class Real>
BasicVar<Real> tanh(BasicVar<Real> x) {
    return pointwise(
        "tanh", x, [](const auto& s, std::span<const Real> v, std::span<Real> y) { s.tanh(v, y); },
        [](const auto& s, Real, Real y, Real dy) { return s.mul(dy, s.sub(1, s.mul(y, y))); });
}

template <class Real>
BasicVar<Real> gelu(BasicVar<Real> x) {
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

template <class Real>
BasicVar<Real> scaled(BasicVar<Real> x, double factor) {
    return pointwise(
        "scale", x, [factor](const auto& s, Real v) { return s.mul(v, s.round(factor)); },
        [factor](const auto& s, Real, Real, Real dy) { return s.mul(dy, s.round(factor)); });
}

template <class Real>
void require_suffix(std::string_view name, const BasicTensor<Real>& a, const BasicTensor<Real>& b) {
    const Shape& x = a.shape();
    const Shape& y = b.shape();
    if (y.size() <= x.size() && std::equal(y.rbegin(), y.rend(), x.rbegin())) return;
    throw std::invalid_argument(
        fmt::format("{}: {} fits neither {} nor its last dimensions", name, text_of(y), text_of(x)));
}

template <class Real>
BasicTensor<Real> summed_to(const Shape& shape, BasicTensor<Real> gradient, const ComputeFormat& compute) {
    if (gradient.shape() == shape) return gradient;
    BasicTensor<Real> sum(shape);
    with_steps<Real>(compute, [&](const auto& s) {
        in_parallel(sum.size(), 4 * gradient.rows_of(sum.size()), [&](Index first, Index last) {
            for (Index i = 0; i < gradient.size(); i += sum.size()) {
                for (Index j = first; j < last; ++j) sum[j] = s.add(sum[j], gradient[i + j]);
            }
        });
    });
    sum.set_format(compute.format);
    return sum;
}

template <class Real>
BasicVar<Real> add(BasicVar<Real> a, BasicVar<Real> b) {
    return pointwise(
        "add", a, b, [](const auto& s, Real x, Real y) { return s.add(x, y); }, PassOn{}, PassOn{});
}

template <class Real>
BasicVar<Real> subtract(BasicVar<Real> a, BasicVar<Real> b) {
    return pointwise(
        "subtract", a, b, [](const auto& s, Real x, Real y) { return s.sub(x, y); }, PassOn{},
        [](const auto&, Real, Real, Real dz) { return -dz; });
}

template <class Real>
BasicVar<Real> multiply(BasicVar<Real> a, BasicVar<Real> b) {
    return pointwise(
        "multiply", a, b, [](const auto& s, Real x, Real y) { return s.mul(x, y); },
        [](const auto& s, Real, Real y, Real dz) { return s.mul(dz, y); },
        [](const auto& s, Real x, Real, Real dz) { return s.mul(dz, x); });
}

#define ULP_INSTANTIATE(Real)                                                                           \
    template void require_suffix(std::string_view, const BasicTensor<Real>&, const BasicTensor<Real>&); \
    template BasicTensor<Real> summed_to(const Shape&, BasicTensor<Real>, const ComputeFormat&);        \
                                                                                                        \
    template BasicVar<Real> relu(BasicVar<Real>);                                                       \
    template BasicVar<Real> leaky_relu(BasicVar<Real>, double);                                         \
    template BasicVar<Real> sigmoid(BasicVar<Real>);                                                    \
    template BasicVar<Real> tanh(BasicVar<Real>);                                                       \
    template BasicVar<Real> gelu(BasicVar<Real>);                                                       \
    template BasicVar<Real> scaled(BasicVar<Real>, double);                                             \
    template BasicVar<Real> add(BasicVar<Real>, BasicVar<Real>);                                        \
    template BasicVar<Real> subtract(BasicVar<Real>, BasicVar<Real>);                                   \
    template BasicVar<Real> multiply(BasicVar<Real>, BasicVar<Real>);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp
