// Convolutions as matrix products over patches, the whole batch in one product a group:
//
//     patches (images * out_h * out_w) x (channels * kernel_h * kernel_w)   one row an output pixel
//     y = patches W^T,   dW = dy^T patches,   dx = fold(dy W)
#include <fmt/format.h>

#include <stdexcept>

#include "engine/operand.hpp"
#include "engine/ops.hpp"

namespace ulp {
namespace {

using Gradient = ProductPurpose::Gradient;

/// Sizes of a convolution. For the transposed one, `in` is what it makes and `out` what it is given.
struct Geometry {
    Index images, in_channels, in_h, in_w, out_channels, out_h, out_w, kernel_h, kernel_w;
    ConvOptions options;

    [[nodiscard]] Index group_in() const { return in_channels / options.groups; }
    [[nodiscard]] Index group_out() const { return out_channels / options.groups; }
    [[nodiscard]] Index patch() const { return group_in() * kernel_h * kernel_w; }
    [[nodiscard]] Index pixels() const { return images * out_h * out_w; }
};

Index extent_out(Index in, Index kernel, Index stride, Index padding, Index dilation) {
    const Index span = dilation * (kernel - 1) + 1;
    return in + 2 * padding < span ? 0 : (in + 2 * padding - span) / stride + 1;
}

template <class Real>
[[noreturn]] void refuse(const char* name, const Tensor<Real>& x, const Tensor<Real>& w, const Tensor<Real>& b) {
    throw std::invalid_argument(fmt::format("{}: x {} does not fit weight {} and bias {} with these options", name,
                                            text_of(x.shape()), text_of(w.shape()), text_of(b.shape())));
}

bool sensible(const ConvOptions& o) { return o.stride >= 1 && o.padding >= 0 && o.dilation >= 1 && o.groups >= 1; }

template <class Real>
Geometry conv_geometry(const Tensor<Real>& x, const Tensor<Real>& w, const Tensor<Real>& b, const ConvOptions& o) {
    if (x.rank() != 4 || w.rank() != 4 || b.rank() != 1 || !sensible(o)) refuse("conv2d", x, w, b);
    const Geometry g{x.dim(0),
                     x.dim(1),
                     x.dim(2),
                     x.dim(3),
                     w.dim(0),
                     extent_out(x.dim(2), w.dim(2), o.stride, o.padding, o.dilation),
                     extent_out(x.dim(3), w.dim(3), o.stride, o.padding, o.dilation),
                     w.dim(2),
                     w.dim(3),
                     o};
    const bool fits = g.in_channels % o.groups == 0 && g.out_channels % o.groups == 0 && w.dim(1) == g.group_in() &&
                      b.dim(0) == g.out_channels && g.out_h > 0 && g.out_w > 0;
    if (!fits) refuse("conv2d", x, w, b);
    return g;
}

/// Calls f(row, column, pixel of x or -1) for every entry of a group's patch matrix, row by row.
template <class Function>
void each_patch_entry(const Geometry& g, Index group, const Function& f) {
    Index row = 0;
    for (Index n = 0; n < g.images; ++n) {
        for (Index oy = 0; oy < g.out_h; ++oy) {
            for (Index ox = 0; ox < g.out_w; ++ox, ++row) {
                Index col = 0;
                for (Index c = 0; c < g.group_in(); ++c) {
                    const Index plane = (n * g.in_channels + group * g.group_in() + c) * g.in_h;
                    for (Index ky = 0; ky < g.kernel_h; ++ky) {
                        const Index y = oy * g.options.stride + ky * g.options.dilation - g.options.padding;
                        const bool inside = y >= 0 && y < g.in_h;
                        for (Index kx = 0; kx < g.kernel_w; ++kx, ++col) {
                            const Index x = ox * g.options.stride + kx * g.options.dilation - g.options.padding;
                            f(row, col, inside && x >= 0 && x < g.in_w ? (plane + y) * g.in_w + x : -1);
                        }
                    }
                }
            }
        }
    }
}

template <class Real>
Tensor<Real> unfold(const Geometry& g, Index group, const Tensor<Real>& x) {
    Tensor<Real> patches({g.pixels(), g.patch()}, x.format());
    Real* to = patches.data();
    each_patch_entry(g, group, [&](Index, Index, Index pixel) { *to++ = pixel < 0 ? Real{0} : x[pixel]; });
    return patches;
}

/// Adds each entry of a patch matrix to its pixel, in row-major order of the patches; each sum a step.
template <class Real>
void fold(const Geometry& g, Index group, const Tensor<Real>& patches, const FloatFormat& compute, Tensor<Real>& x) {
    with_steps<Real>(compute, [&](const auto& s) {
        const Real* from = patches.data();
        each_patch_entry(g, group, [&](Index, Index, Index pixel) {
            const Real value = *from++;
            if (pixel >= 0) x[pixel] = s.add(x[pixel], value);
        });
    });
}

/// A group's channels of an image tensor (images, channels, h, w) as rows, one a pixel.
template <class Real>
Tensor<Real> rows_of_group(const Geometry& g, Index group, const Tensor<Real>& y) {
    const Index area = g.out_h * g.out_w;
    Tensor<Real> rows({g.pixels(), g.group_out()}, y.format());
    for (Index n = 0; n < g.images; ++n) {
        for (Index c = 0; c < g.group_out(); ++c) {
            const Real* plane = y.data() + (n * g.out_channels + group * g.group_out() + c) * area;
            for (Index p = 0; p < area; ++p) rows[(n * area + p) * g.group_out() + c] = plane[p];
        }
    }
    return rows;
}

/// The reverse.
template <class Real>
void put_rows(const Geometry& g, Index group, const Tensor<Real>& rows, Tensor<Real>& y) {
    const Index area = g.out_h * g.out_w;
    for (Index n = 0; n < g.images; ++n) {
        for (Index c = 0; c < g.group_out(); ++c) {
            Real* plane = y.data() + (n * g.out_channels + group * g.group_out() + c) * area;
            for (Index p = 0; p < area; ++p) plane[p] = rows[(n * area + p) * g.group_out() + c];
        }
    }
}

/// What the passes of a convolution and of its transpose share.
template <class Real>
struct ConvPass {
    const Engine* engine;
    Geometry g;
    OpPrecision precision;
    std::string label;

    /// A group's rows of the weight: group_out x patch.
    [[nodiscard]] StridedView<const Real> group_weight(const Operand<Real>& w, Index group) const {
        return w.matrix(g.group_out(), g.patch(), group * g.group_out() * g.patch());
    }
    /// patches -> rows of outputs.
    Tensor<Real> forward(Index group, const Tensor<Real>& x, const Tensor<Real>& w, std::string_view pass,
                         Gradient gradient) const {
        const ProductTypes& types = precision.product;
        const Tensor<Real> patches = unfold(g, group, x);
        Tensor<Real> rows({g.pixels(), g.group_out()});
        product<Real>(*engine, types, {label, pass, gradient},
                      Operand(patches, types.input).matrix(g.pixels(), g.patch()),
                      group_weight(Operand(w, types.b_input), group).transposed(), rows.data());
        rows.set_format(types.accumulator);
        return rows;
    }
    /// rows of outputs -> patches, folded into x.
    void transposed(Index group, const Tensor<Real>& y, const Tensor<Real>& w, std::string_view pass, Gradient gradient,
                    Tensor<Real>& x) const {
        const ProductTypes& types = precision.product;
        const Tensor<Real> rows = rows_of_group(g, group, y);
        Tensor<Real> patches({g.pixels(), g.patch()});
        product<Real>(*engine, types, {label, pass, gradient},
                      Operand(rows, types.input).matrix(g.pixels(), g.group_out()),
                      group_weight(Operand(w, types.b_input), group), patches.data());
        patches.set_format(types.accumulator);
        patches.round_to_format(precision.compute);
        fold(g, group, patches, precision.compute, x);
    }
    /// The gradient of a group's weight from outputs (or what stands for them) and inputs.
    void weight_gradient(Index group, const Tensor<Real>& y, const Tensor<Real>& x, Gradient gradient,
                         Tensor<Real>& dw) const {
        const ProductTypes& types = precision.product;
        const Tensor<Real> rows = rows_of_group(g, group, y);
        const Tensor<Real> patches = unfold(g, group, x);
        product<Real>(*engine, types, {label, "weight gradient", gradient},
                      Operand(rows, types.input).matrix(g.pixels(), g.group_out()).transposed(),
                      Operand(patches, types.b_input).matrix(g.pixels(), g.patch()),
                      dw.data() + group * g.group_out() * g.patch());
    }
};

/// The sum over images and pixels of each channel: images in order, pixels in order.
template <class Real>
Tensor<Real> channel_sums(const Tensor<Real>& dy, const FloatFormat& compute) {
    const Index channels = dy.dim(1);
    const Index area = dy.dim(2) * dy.dim(3);
    Tensor<Real> sums({channels});
    with_steps<Real>(compute, [&](const auto& s) {
        for (Index plane = 0; plane < dy.dim(0) * channels; ++plane) {
            Real& sum = sums[plane % channels];
            for (Index p = 0; p < area; ++p) sum = s.add(sum, dy[plane * area + p]);
        }
    });
    sums.set_format(compute);
    return sums;
}

}  // namespace

template <class Real>
Var<Real> conv2d(Var<Real> x, Var<Real> weight, Var<Real> bias, const ConvOptions& options) {
    const Geometry g = conv_geometry(x.value(), weight.value(), bias.value(), options);
    const Operation<Real> op("conv2d", {x, weight, bias});
    x = op.input(0), weight = op.input(1), bias = op.input(2);
    const ConvPass<Real> pass{&op.tape().engine(), g, op.precision(), op.label()};
    Tensor<Real> y({g.images, g.out_channels, g.out_h, g.out_w});
    for (Index group = 0; group < options.groups; ++group) {
        Tensor<Real> rows = pass.forward(group, x.value(), weight.value(), "forward", Gradient::none);
        Tensor<Real> group_bias({g.group_out()});
        for (Index c = 0; c < g.group_out(); ++c) group_bias[c] = bias.value()[group * g.group_out() + c];
        add_bias(rows, group_bias, pass.precision);
        put_rows(g, group, rows, y);
    }
    Tape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor<Real>& dy, const Tensor<Real>&) {
        const FloatFormat compute = pass.precision.compute;
        if (tape->needs_gradient(x)) {
            Tensor<Real> dx(x.shape());
            for (Index group = 0; group < g.options.groups; ++group) {
                pass.transposed(group, dy, weight.value(), "input gradient", Gradient::a, dx);
            }
            dx.set_format(compute);
            tape->accumulate(x, std::move(dx));
        }
        if (tape->needs_gradient(weight)) {
            Tensor<Real> dw(weight.shape());
            for (Index group = 0; group < g.options.groups; ++group)
                pass.weight_gradient(group, dy, x.value(), Gradient::a, dw);
            tape->accumulate(weight, std::move(dw));
        }
        if (tape->needs_gradient(bias)) tape->accumulate(bias, channel_sums(dy, compute));
    });
}

template <class Real>
Var<Real> conv_transpose2d(Var<Real> x, Var<Real> weight, Var<Real> bias, const ConvOptions& o) {
    const Tensor<Real>& w = weight.value();
    if (x.value().rank() != 4 || w.rank() != 4 || bias.value().rank() != 1 || !sensible(o)) {
        refuse("conv_transpose2d", x.value(), w, bias.value());
    }
    // The convolution whose input gradient this is: it leads from what is made here to what is given here.
    const Index made_h = (x.dim(2) - 1) * o.stride - 2 * o.padding + o.dilation * (w.dim(2) - 1) + 1;
    const Index made_w = (x.dim(3) - 1) * o.stride - 2 * o.padding + o.dilation * (w.dim(3) - 1) + 1;
    const Geometry g{x.dim(0), w.dim(1) * o.groups, made_h, made_w, x.dim(1), x.dim(2), x.dim(3), w.dim(2), w.dim(3),
                     o};
    const bool fits =
        w.dim(0) == x.dim(1) && x.dim(1) % o.groups == 0 && bias.dim(0) == g.in_channels && made_h > 0 && made_w > 0;
    if (!fits) refuse("conv_transpose2d", x.value(), w, bias.value());
    const Operation<Real> op("conv_transpose2d", {x, weight, bias});
    x = op.input(0), weight = op.input(1), bias = op.input(2);
    const ConvPass<Real> pass{&op.tape().engine(), g, op.precision(), op.label()};
    const FloatFormat compute = pass.precision.compute;
    Tensor<Real> y({g.images, g.in_channels, g.in_h, g.in_w});
    for (Index group = 0; group < o.groups; ++group)
        pass.transposed(group, x.value(), weight.value(), "forward", Gradient::none, y);
    with_steps<Real>(compute, [&](const auto& s) {
        const Index area = g.in_h * g.in_w;
        for (Index i = 0; i < y.size(); ++i) y[i] = s.add(y[i], bias.value()[i / area % g.in_channels]);
    });
    Tape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor<Real>& dy, const Tensor<Real>&) {
        if (tape->needs_gradient(x)) {
            Tensor<Real> dx(x.shape());
            for (Index group = 0; group < g.options.groups; ++group) {
                put_rows(g, group, pass.forward(group, dy, weight.value(), "input gradient", Gradient::a), dx);
            }
            dx.set_format(pass.precision.product.accumulator);
            tape->accumulate(x, std::move(dx));
        }
        if (tape->needs_gradient(weight)) {
            Tensor<Real> dw(weight.shape());
            for (Index group = 0; group < g.options.groups; ++group)
                pass.weight_gradient(group, x.value(), dy, Gradient::b, dw);
            tape->accumulate(weight, std::move(dw));
        }
        if (tape->needs_gradient(bias)) tape->accumulate(bias, channel_sums(dy, compute));
    });
}

template <class Real>
Var<Real> conv1d(Var<Real> x, Var<Real> weight, Var<Real> bias, const ConvOptions& options) {
    if (x.value().rank() != 3 || weight.value().rank() != 3 || options.padding < 0) {
        refuse("conv1d", x.value(), weight.value(), bias.value());
    }
    // As a convolution of images one pixel high; padding would make them higher, so it is put on before.
    Var<Real> padded = x;
    if (options.padding > 0) {
        Tensor<Real> zeros({x.dim(0), x.dim(1), options.padding}, x.format());
        const Var<Real> side = x.tape->constant(std::move(zeros));
        padded = concat<Real>({side, x, side}, 2);
    }
    ConvOptions flat = options;
    flat.padding = 0;
    const Var<Real> image = reshape(padded, {padded.dim(0), padded.dim(1), 1, padded.dim(2)});
    const Var<Real> kernel = reshape(weight, {weight.dim(0), weight.dim(1), 1, weight.dim(2)});
    const Var<Real> y = conv2d(image, kernel, bias, flat);
    return reshape(y, {y.dim(0), y.dim(1), y.dim(3)});
}

#define ULP_INSTANTIATE(Real)                                                                 \
    template Var<Real> conv2d(Var<Real>, Var<Real>, Var<Real>, const ConvOptions&);           \
    template Var<Real> conv_transpose2d(Var<Real>, Var<Real>, Var<Real>, const ConvOptions&); \
    template Var<Real> conv1d(Var<Real>, Var<Real>, Var<Real>, const ConvOptions&);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp
