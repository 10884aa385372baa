#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tape/scaled_matmul.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

using Gradient = ProductPurpose::Gradient;
using enum ProductPass;

void require_linear_shapes(const Tensor& x, const Tensor& w, const std::optional<Var>& b) {
    const bool fits = w.rank() == 2 && x.rank() >= 1 && x.dim(-1) == w.dim(1);
    if (fits && (!b || b->shape() == Shape{w.dim(0)})) return;
    throw std::invalid_argument(fmt::format("linear: x {} does not fit weight {} (out, in) and {}", text_of(x.shape()),
                                            text_of(w.shape()), b ? "bias " + text_of(b->shape()) : "no bias"));
}

/// What the products copy counts as workspace.
void multiply(Tape& tape, const ProductTypes& types, const ProductPurpose& purpose,
              const std::vector<MatrixProduct>& products) {
    tape.note_workspace(scaled_matmul(tape.engine(), tape.run(), types, purpose, products));
}
/// product(i) for [0, count).
template <class Function>
std::vector<MatrixProduct> each_product(Index count, const Function& product) {
    std::vector<MatrixProduct> products;
    for (Index i = 0; i < count; ++i) products.push_back(product(i));
    return products;
}

/// A tensor's numbers as rows x cols, for ProductTerms.
BasicMatrixView<const Real> view_of(const Tensor& tensor, Index rows, Index cols) {
    return {tensor.data(), rows, cols};
}

}  // namespace

Var linear(Var x, Var weight, const std::optional<Var>& given_bias) {
    require_linear_shapes(x.value(), weight.value(), given_bias);
    const Operation op("linear", inputs_with(x, weight, given_bias));
    x = op.input(0), weight = op.input(1);
    const std::optional<Var> bias = given_bias ? std::optional(op.input(2)) : std::nullopt;
    const Index out = weight.dim(0);
    const Index in = weight.dim(1);
    const Index rows = x.value().rows_of(in);
    const OpPrecision precision = op.precision();
    const ProductTypes types = precision.product;
    Tape* tape = &op.tape();

    Shape shape = x.shape();
    shape.back() = out;
    auto y = Tensor::unset(shape);
    multiply(*tape, types, {op.label(), forward, Gradient::none, op.rules()},
             {{Operand(x.value(), types.input).matrix(rows, in),
               Operand(weight.value(), types.b_input).matrix(out, in).transposed(),
               {y.data(), rows, out}}});
    y.set_format(types.accumulator);
    y.round_to_format(precision.compute);
    if (bias) add_bias(y, bias->value(), precision.compute);

    return op.finish(
        std::move(y),
        [=, label = op.label(), rules = op.rules()](const Tensor& dy, const Tensor&) {
            const Operand gradient(dy, types.input);
            if (tape->needs_gradient(x)) {
                auto dx = Tensor::unset(x.shape());
                multiply(*tape, types, {label, input_gradient, Gradient::a, rules},
                         {{gradient.matrix(rows, out),
                           Operand(weight.value(), types.b_input).matrix(out, in),
                           {dx.data(), rows, in}}});
                tape->accumulate(x, std::move(dx),
                                 ProductTerms{view_of(dy, rows, out), view_of(weight.value(), out, in)});
            }
            if (tape->needs_gradient(weight)) {
                auto dw = Tensor::unset(weight.shape());
                multiply(*tape, types, {label, weight_gradient, Gradient::a, rules, tape->needs_gradient(x)},
                         {{gradient.matrix(rows, out).transposed(),
                           Operand(x.value(), types.b_input).matrix(rows, in),
                           {dw.data(), out, in}}});
                tape->accumulate(weight, std::move(dw),
                                 ProductTerms{view_of(dy, rows, out).transposed(), view_of(x.value(), rows, in)});
            }
            if (bias && tape->needs_gradient(*bias)) {
                tape->accumulate(*bias, column_sums(dy, out, precision.compute));
            }
        },
        ProductTerms{view_of(x.value(), rows, in), view_of(weight.value(), out, in).transposed()});
}

namespace {

/// The matrices of a batched product: a (count, m, k), b (count, k, n) or, transposed, (count, n, k).
struct BatchedShape {
    Index count, m, n, k;
};

BatchedShape batched_shape(const Tensor& a, const Tensor& b, bool transpose_b) {
    const Index rank = a.rank();
    const bool same_rank = rank == b.rank() && (rank == 2 || rank == 3);
    if (same_rank && (rank == 2 || a.dim(0) == b.dim(0)) && a.dim(-1) == b.dim(transpose_b ? -1 : -2)) {
        return {rank == 2 ? 1 : a.dim(0), a.dim(-2), b.dim(transpose_b ? -2 : -1), a.dim(-1)};
    }
    throw std::invalid_argument(fmt::format("matmul: {} does not fit {}{}", text_of(a.shape()), text_of(b.shape()),
                                            transpose_b ? " transposed" : ""));
}

}  // namespace

Var matmul(Var a, Var b, bool transpose_b) {
    const BatchedShape s = batched_shape(a.value(), b.value(), transpose_b);
    const Operation op("matmul", {a, b});
    a = op.input(0), b = op.input(1);
    const ProductTypes types = op.precision().product;
    Tape* tape = &op.tape();
    // Views of the i-th matrices; b as k x n however it is stored.
    const auto a_of = [s](const Operand& x, Index i) { return x.matrix(s.m, s.k, i * s.m * s.k); };
    const auto b_of = [s, transpose_b](const Operand& x, Index i) {
        return transpose_b ? x.matrix(s.n, s.k, i * s.n * s.k).transposed() : x.matrix(s.k, s.n, i * s.k * s.n);
    };
    const auto d_of = [s](const Operand& x, Index i) { return x.matrix(s.m, s.n, i * s.m * s.n); };

    Shape shape = a.shape();
    shape.back() = s.n;
    auto y = Tensor::unset(shape);
    {
        const Operand x(a.value(), types.input);
        const Operand w(b.value(), types.b_input);
        multiply(*tape, types, {op.label(), forward, Gradient::none, op.rules()}, each_product(s.count, [&](Index i) {
            return MatrixProduct{a_of(x, i), b_of(w, i), {y.data() + i * s.m * s.n, s.m, s.n}};
        }));
    }
    y.set_format(types.accumulator);
    y.round_to_format(op.precision().compute);
    return op.finish(
        std::move(y),
        [=, label = op.label(), rules = op.rules()](const Tensor& dy, const Tensor&) {
            if (tape->needs_gradient(a)) {
                const Operand g(dy, types.input);
                const Operand w(b.value(), types.b_input);
                auto da = Tensor::unset(a.shape());
                multiply(*tape, types, {label, input_gradient, Gradient::a, rules}, each_product(s.count, [&](Index i) {
                    return MatrixProduct{d_of(g, i), b_of(w, i).transposed(), {da.data() + i * s.m * s.k, s.m, s.k}};
                }));
                tape->accumulate(a, std::move(da));
            }
            if (tape->needs_gradient(b)) {
                // Each on the grid of the side that it is on: dy^T a, or a^T dy.
                const Operand g(dy, transpose_b ? types.input : types.b_input);
                const Operand x(a.value(), transpose_b ? types.b_input : types.input);
                auto db = Tensor::unset(b.shape());
                const ProductPurpose purpose{label, weight_gradient, transpose_b ? Gradient::a : Gradient::b, rules,
                                             tape->needs_gradient(a)};
                multiply(*tape, types, purpose, each_product(s.count, [&](Index i) {
                    // a^T dy is k x n; stored transposed it is dy^T a.
                    Real* to = db.data() + i * s.k * s.n;
                    if (transpose_b) {
                        return MatrixProduct{d_of(g, i).transposed(), a_of(x, i), {to, s.n, s.k}};
                    }
                    return MatrixProduct{a_of(x, i).transposed(), d_of(g, i), {to, s.k, s.n}};
                }));
                tape->accumulate(b, std::move(db));
            }
        },
        ProductTerms{view_of(a.value(), s.m, s.k),
                     transpose_b ? view_of(b.value(), s.n, s.k).transposed() : view_of(b.value(), s.k, s.n), s.m * s.k,
                     s.k * s.n});
}

}  // namespace ulp::inline ULPLAB_MODE
