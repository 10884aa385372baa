#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "engine/operations/operation.hpp"
#include "engine/operations/ops.hpp"
#include "engine/tensor/parallel.hpp"

namespace ulp {
namespace {

/// y = f(x) element by element. f(s, x) gives y; df(s, x, y, dy) gives dx, with y as it was stored.
template <class Real, class Function, class Derivative>
BasicVar<Real> unary(std::string_view name, BasicVar<Real> x, const Function& f, const Derivative& df) {
    const BasicOperation<Real> op(name, {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    auto y = BasicTensor<Real>::unset(x.shape());
    with_steps<Real>(compute, [&](const auto& s) {
        const Real* in = x.value().data();
        Real* out = y.data();
        in_parallel(y.size(), 4, [&](Index first, Index last) {
            for (Index i = first; i < last; ++i) out[i] = f(s, in[i]);
        });
    });
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>& result) {
        auto dx = BasicTensor<Real>::unset(dy.shape());
        with_steps<Real>(compute, [&](const auto& s) {
            const Real* in = x.value().data();
            const Real* made = result.data();
            const Real* upstream = dy.data();
            Real* out = dx.data();
            in_parallel(dx.size(), 4, [&](Index first, Index last) {
                for (Index i = first; i < last; ++i) out[i] = df(s, in[i], made[i], upstream[i]);
            });
        });
        dx.set_format(compute.format);
        tape->accumulate(x, std::move(dx));
    });
}

constexpr double root_half = 0.70710678118654752440;
constexpr double density_at_0 = 0.39894228040143267794;  // of the standard normal distribution: 1/sqrt(2 pi)

}  // namespace

template <class Real>
BasicVar<Real> relu(BasicVar<Real> x) {
    return unary(
        "relu", x, [](const auto&, Real v) { return v <= 0 ? Real{0} : v; },
        [](const auto&, Real v, Real, Real dy) { return v <= 0 ? Real{0} : dy; });
}

template <class Real>
BasicVar<Real> leaky_relu(BasicVar<Real> x, double slope) {
    return unary(
        "leaky_relu", x, [slope](const auto& s, Real v) { return v > 0 ? v : s.mul(s.round(slope), v); },
        [slope](const auto& s, Real v, Real, Real dy) { return v > 0 ? dy : s.mul(s.round(slope), dy); });
}

template <class Real>
BasicVar<Real> sigmoid(BasicVar<Real> x) {
    return unary(
        "sigmoid", x, [](const auto& s, Real v) { return s.sigmoid(v); },
        [](const auto& s, Real, Real y, Real dy) { return s.mul(dy, s.mul(y, s.sub(1, y))); });
}

template <class Real>
BasicVar<Real> tanh(BasicVar<Real> x) {
    return unary(
        "tanh", x, [](const auto& s, Real v) { return s.tanh(v); },
        [](const auto& s, Real, Real y, Real dy) { return s.mul(dy, s.sub(1, s.mul(y, y))); });
}

template <class Real>
BasicVar<Real> gelu(BasicVar<Real> x) {
    // The normal distribution function at v.
    const auto below = [](const auto& s, Real v) {
        return s.mul(s.round(0.5), s.add(1, s.erf(s.mul(v, s.round(root_half)))));
    };
    return unary(
        "gelu", x, [=](const auto& s, Real v) { return s.mul(v, below(s, v)); },
        [=](const auto& s, Real v, Real, Real dy) {
            const Real density = s.mul(s.round(density_at_0), s.exp(s.mul(s.round(-0.5), s.mul(v, v))));
            return s.mul(dy, s.add(below(s, v), s.mul(v, density)));
        });
}

template <class Real>
BasicVar<Real> scaled(BasicVar<Real> x, double factor) {
    return unary(
        "scale", x, [factor](const auto& s, Real v) { return s.mul(v, s.round(factor)); },
        [factor](const auto& s, Real, Real, Real dy) { return s.mul(dy, s.round(factor)); });
}

namespace {

/// Checks that b has a's shape, or that of its last dimensions.
template <class Real>
void require_suffix(std::string_view name, const BasicTensor<Real>& a, const BasicTensor<Real>& b) {
    const Shape& x = a.shape();
    const Shape& y = b.shape();
    if (y.size() <= x.size() && std::equal(y.rbegin(), y.rend(), x.rbegin())) return;
    throw std::invalid_argument(
        fmt::format("{}: {} fits neither {} nor its last dimensions", name, text_of(y), text_of(x)));
}

/// The gradient of an input that was repeated: the sum over the repetitions in ascending order.
template <class Real>
BasicTensor<Real> summed_to(const Shape& shape, BasicTensor<Real> gradient, const ComputeFormat& compute) {
    if (gradient.shape() == shape) return gradient;
    BasicTensor<Real> sum(shape);
    with_steps<Real>(compute, [&](const auto& s) {
        for (Index i = 0; i < gradient.size(); i += sum.size()) {
            for (Index j = 0; j < sum.size(); ++j) sum[j] = s.add(sum[j], gradient[i + j]);
        }
    });
    sum.set_format(compute.format);
    return sum;
}

/// The gradient of an input that only is added: dz itself.
struct PassOn {
    template <class Real>
    Real operator()(const auto&, Real, Real, Real dz) const {
        return dz;
    }
};

/// z = f(a, b), b repeated over a's leading dimensions. da and db give the gradients' elements from (s, a, b, dz).
template <class Real, class Function, class GradientA, class GradientB>
BasicVar<Real> binary(std::string_view name, BasicVar<Real> a, BasicVar<Real> b, const Function& f, const GradientA& da,
                      const GradientB& db) {
    require_suffix(name, a.value(), b.value());
    const BasicOperation<Real> op(name, {a, b});
    a = op.input(0), b = op.input(1);
    const ComputeFormat compute = op.precision().compute;
    const auto each = [a, b, compute](const auto& g) {
        auto out = BasicTensor<Real>::unset(a.shape());
        with_steps<Real>(compute, [&](const auto& s) {
            const Real* x = a.value().data();
            const Real* y = b.value().data();
            Real* z = out.data();
            const Index period = b.value().size();
            for (Index i = 0; i < out.size(); i += period) {
                in_parallel(period, 4, [&](Index first, Index last) {
                    for (Index j = first; j < last; ++j) z[i + j] = g(s, x[i + j], y[j], i + j);
                });
            }
        });
        out.set_format(compute.format);
        return out;
    };
    BasicTape<Real>* tape = &op.tape();
    return op.finish(each([&](const auto& s, Real x, Real y, Index) { return f(s, x, y); }),
                     [=](const BasicTensor<Real>& dz, const BasicTensor<Real>&) {
                         if constexpr (std::is_same_v<GradientA, PassOn>) {
                             tape->pass_on(a, dz);
                         } else if (tape->needs_gradient(a)) {
                             tape->accumulate(
                                 a, each([&](const auto& s, Real x, Real y, Index i) { return da(s, x, y, dz[i]); }));
                         }
                         if (std::is_same_v<GradientB, PassOn> && a.shape() == b.shape()) {
                             tape->pass_on(b, dz);
                         } else if (tape->needs_gradient(b)) {
                             BasicTensor<Real> full =
                                 each([&](const auto& s, Real x, Real y, Index i) { return db(s, x, y, dz[i]); });
                             tape->accumulate(b, summed_to(b.shape(), std::move(full), compute));
                         }
                     });
}

}  // namespace

template <class Real>
BasicVar<Real> add(BasicVar<Real> a, BasicVar<Real> b) {
    return binary(
        "add", a, b, [](const auto& s, Real x, Real y) { return s.add(x, y); }, PassOn{}, PassOn{});
}

template <class Real>
BasicVar<Real> subtract(BasicVar<Real> a, BasicVar<Real> b) {
    return binary(
        "subtract", a, b, [](const auto& s, Real x, Real y) { return s.sub(x, y); }, PassOn{},
        [](const auto&, Real, Real, Real dz) { return -dz; });
}

template <class Real>
BasicVar<Real> multiply(BasicVar<Real> a, BasicVar<Real> b) {
    return binary(
        "multiply", a, b, [](const auto& s, Real x, Real y) { return s.mul(x, y); },
        [](const auto& s, Real, Real y, Real dz) { return s.mul(dz, y); },
        [](const auto& s, Real x, Real, Real dz) { return s.mul(dz, x); });
}

#define ULP_INSTANTIATE(Real)                                         \
    template BasicVar<Real> relu(BasicVar<Real>);                     \
    template BasicVar<Real> leaky_relu(BasicVar<Real>, double);       \
    template BasicVar<Real> sigmoid(BasicVar<Real>);                  \
    template BasicVar<Real> tanh(BasicVar<Real>);                     \
    template BasicVar<Real> gelu(BasicVar<Real>);                     \
    template BasicVar<Real> scaled(BasicVar<Real>, double);           \
    template BasicVar<Real> add(BasicVar<Real>, BasicVar<Real>);      \
    template BasicVar<Real> subtract(BasicVar<Real>, BasicVar<Real>); \
    template BasicVar<Real> multiply(BasicVar<Real>, BasicVar<Real>);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp
