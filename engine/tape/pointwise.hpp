// Operations element by element from functions of numbers: the built-in ones, and a user's own.
//
//     /// x * tanh(log(1 + exp(x))) (Misra, "Mish", BMVC 2020).
//     Var mish(Var x) {
//         return pointwise(
//             "mish", x, [](const auto& s, Real v) { return s.mul(v, s.tanh(s.softplus(v))); },
//             [](const auto& s, Real v, Real, Real dy) {
//                 const Real t = s.tanh(s.softplus(v));
//                 return s.mul(dy, s.add(t, s.mul(s.mul(v, s.sigmoid(v)), s.sub(1, s.mul(t, t)))));
//             });
//     }
//
// `s` takes one elementary step at a time and rounds it to the format in which the recipe computes this operation:
// s.add(a, b), sub, mul, div, sqrt(a), s.exp(a) and the other functions of softfloat/functions/list.hpp, s.round(0.7)
// for a constant. What is written without it is not rounded. The name is what cast rules, logs and watches call the
// operation. Real is float, and double in a source that checks gradients (gradient_check.hpp).
//
// A function may also be written for up to `largest_piece` elements at a time, f(s, x, y) and df(s, x, y, dy, dx) on
// spans of one size: then s.exp(a, out) takes them together, which is several times as fast.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <type_traits>

#include "engine/tape/operation.hpp"
#include "engine/tensor/matrix.hpp"

namespace ulp::inline ULPLAB_MODE {

/// Elements that a function written for spans is given at once: few enough for the nearest cache.
inline constexpr Index largest_piece = 512;

namespace pointwise_detail {

/// out[i] = f(s, in[i]...), or f(s, in..., out) piece by piece where f takes spans.
template <class Steps, class Function, class... Inputs>
void apply(const Steps& s, const Function& f, Index first, Index last, Real* out, const Inputs*... in) {
    if constexpr (std::is_invocable_v<const Function&, const Steps&, std::span<const Inputs>..., std::span<Real>>) {
        for (Index i = first; i < last; i += largest_piece) {
            const auto size = static_cast<std::size_t>(std::min(largest_piece, last - i));
            f(s, std::span<const Inputs>(in + i, size)..., std::span<Real>(out + i, size));
        }
    } else {
        for (Index i = first; i < last; ++i) out[i] = f(s, in[i]...);
    }
}

}  // namespace pointwise_detail

/// y = f(x), of x's shape. f(s, x) gives an element of y; df(s, x, y, dy) the gradient's element dx, with y as it was
/// stored. Both depend on their arguments alone: they run on several threads.
template <class Function, class Derivative>
Var pointwise(std::string_view name, Var x, const Function& f, const Derivative& df) {
    const Operation op(name, {x});
    x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    auto y = Tensor::unset(x.shape());
    with_steps(compute, [&](const auto& s) {
        in_parallel(y.size(), 4, [&](Index first, Index last) {
            pointwise_detail::apply(s, f, first, last, y.data(), x.value().data());
        });
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor& result) {
        auto dx = Tensor::unset(dy.shape());
        with_steps(compute, [&](const auto& s) {
            in_parallel(dx.size(), 4, [&](Index first, Index last) {
                pointwise_detail::apply(s, df, first, last, dx.data(), x.value().data(), result.data(), dy.data());
            });
        });
        dx.set_format(compute.format);
        tape->accumulate(x, std::move(dx));
    });
}

/// The gradient of an input that only is added: dz itself.
struct PassOn {
    Real operator()(const auto&, Real, Real, Real dz) const { return dz; }
};

/// Throws std::invalid_argument unless b has a's shape, or that of its last dimensions.
void require_suffix(std::string_view name, const Tensor& a, const Tensor& b);
/// The gradient of an input that was repeated: the sum over the repetitions in ascending order.
Tensor summed_to(const Shape& shape, Tensor gradient, const ComputeFormat& compute);

/// z = f(a, b), b repeated over a's leading dimensions. f(s, a, b) gives an element of z; da(s, a, b, dz) and
/// db(s, a, b, dz) those of the gradients, or PassOn{}. Throws std::invalid_argument where the shapes do not fit.
template <class Function, class GradientA, class GradientB>
Var pointwise(std::string_view name, Var a, Var b, const Function& f, const GradientA& da, const GradientB& db) {
    require_suffix(name, a.value(), b.value());
    const Operation op(name, {a, b});
    a = op.input(0), b = op.input(1);
    const ComputeFormat compute = op.precision().compute;
    const auto each = [a, b, compute](const auto& g) {
        auto out = Tensor::unset(a.shape());
        with_steps(compute, [&](const auto& s) {
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
    Tape* tape = &op.tape();
    return op.finish(
        each([&](const auto& s, Real x, Real y, Index) { return f(s, x, y); }), [=](const Tensor& dz, const Tensor&) {
            if constexpr (std::is_same_v<GradientA, PassOn>) {
                tape->pass_on(a, dz);
            } else if (tape->needs_gradient(a)) {
                tape->accumulate(a, each([&](const auto& s, Real x, Real y, Index i) { return da(s, x, y, dz[i]); }));
            }
            if (std::is_same_v<GradientB, PassOn> && a.shape() == b.shape()) {
                tape->pass_on(b, dz);
            } else if (tape->needs_gradient(b)) {
                Tensor full = each([&](const auto& s, Real x, Real y, Index i) { return db(s, x, y, dz[i]); });
                tape->accumulate(b, summed_to(b.shape(), std::move(full), compute));
            }
        });
}

}  // namespace ulp::inline ULPLAB_MODE
