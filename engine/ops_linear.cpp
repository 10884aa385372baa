#include <fmt/format.h>

#include <stdexcept>

#include "engine/operation.hpp"
#include "engine/ops.hpp"

namespace ulp {
namespace {

/// A product's operand on the grid that the product takes.
template <class Real>
Tensor<Real> on_grid(const Tensor<Real>& tensor, const FloatFormat& grid) {
    Tensor<Real> rounded = tensor;
    rounded.round_to_format(grid);
    return rounded;
}

template <class Real>
void require_linear_shapes(const Tensor<Real>& x, const Tensor<Real>& w, const Tensor<Real>& b) {
    if (w.rank() == 2 && x.rank() >= 1 && x.dim(-1) == w.dim(1) && b.rank() == 1 && b.dim(0) == w.dim(0)) return;
    throw std::invalid_argument(fmt::format("linear: x {} does not fit weight {} (out, in) and bias {}",
                                            text_of(x.shape()), text_of(w.shape()), text_of(b.shape())));
}

/// y(i, j) += b(j), each sum a step.
template <class Real>
void add_bias(Tensor<Real>& y, const Tensor<Real>& b, const FloatFormat& compute) {
    const Index cols = b.size();
    with_steps<Real>(compute, [&](const auto& s) {
        for (Index i = 0; i < y.size(); i += cols) {
            for (Index j = 0; j < cols; ++j) y[i + j] = s.add(y[i + j], b[j]);
        }
    });
}

/// The sum of each column, rows ascending from row 0.
template <class Real>
Tensor<Real> column_sums(const Tensor<Real>& dy, Index cols, const FloatFormat& compute) {
    Tensor<Real> sums({cols});
    with_steps<Real>(compute, [&](const auto& s) {
        for (Index i = 0; i < dy.size(); i += cols) {
            for (Index j = 0; j < cols; ++j) sums[j] = s.add(sums[j], dy[i + j]);
        }
    });
    sums.set_format(compute);
    return sums;
}

}  // namespace

template <class Real>
Var<Real> linear(Var<Real> x, Var<Real> weight, Var<Real> bias) {
    require_linear_shapes(x.value(), weight.value(), bias.value());
    const Operation<Real> op("linear", {x, weight, bias});
    x = op.input(0), weight = op.input(1), bias = op.input(2);
    const Index out = weight.dim(0);
    const Index in = weight.dim(1);
    const Index rows = x.value().rows_of(in);
    const OpPrecision precision = op.precision();
    const ProductTypes types = precision.product;

    Shape shape = x.shape();
    shape.back() = out;
    Tensor<Real> y(shape);
    using View = StridedView<const Real>;
    const Engine& engine = op.tape().engine();
    {
        const Tensor<Real> a = on_grid(x.value(), types.input);
        const Tensor<Real> b = on_grid(weight.value(), types.input);
        product<Real>(engine, types, {op.label(), "forward"}, View(a.data(), rows, in),
                      View(b.data(), out, in).transposed(), y.data());
    }
    y.set_format(types.accumulator);
    y.round_to_format(precision.compute);
    add_bias(y, bias.value(), precision.compute);

    Tape<Real>* tape = &op.tape();
    const std::string label = op.label();
    return op.finish(std::move(y), [=, &engine](const Tensor<Real>& dy) {
        const Tensor<Real> g = on_grid(dy, types.input);
        const View gradient(g.data(), rows, out);
        if (tape->needs_gradient(x)) {
            const Tensor<Real> w = on_grid(weight.value(), types.input);
            Tensor<Real> dx(x.shape());
            product<Real>(engine, types, {label, "input gradient"}, gradient, View(w.data(), out, in), dx.data());
            tape->accumulate(x, std::move(dx));
        }
        if (tape->needs_gradient(weight)) {
            const Tensor<Real> a = on_grid(x.value(), types.input);
            Tensor<Real> dw(weight.shape());
            product<Real>(engine, types, {label, "weight gradient"}, gradient.transposed(), View(a.data(), rows, in),
                          dw.data());
            tape->accumulate(weight, std::move(dw));
        }
        if (tape->needs_gradient(bias)) tape->accumulate(bias, column_sums(dy, out, precision.compute));
    });
}
template Var<float> linear(Var<float>, Var<float>, Var<float>);
template Var<double> linear(Var<double>, Var<double>, Var<double>);

}  // namespace ulp
