// Convolutions as matrix products over patches, the whole batch in one product a group:
//
//     patches (images * out_h * out_w) x (channels * kernel_h * kernel_w)   one row an output pixel
//     y = patches W^T,   dW = dy^T patches,   dx = fold(dy W)
//
// In memory patches and outputs lie the other way round, pixels beside each other, as images have them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tape/scaled_matmul.hpp"
#include "engine/tensor/matrix.hpp"

namespace ulp::inline ULPLAB_MODE {
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

[[noreturn]] void refuse(const char* name, const Tensor& x, const Tensor& w, const Tensor& b) {
    throw std::invalid_argument(fmt::format("{}: x {} does not fit weight {} and bias {} with these options", name,
                                            text_of(x.shape()), text_of(w.shape()), text_of(b.shape())));
}

bool sensible(const ConvOptions& o) { return o.stride >= 1 && o.padding >= 0 && o.dilation >= 1 && o.groups >= 1; }

Geometry conv_geometry(const Tensor& x, const Tensor& w, const Tensor& b, const ConvOptions& o) {
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

/// The places of a row of outputs whose kernel column lies inside the image: [first, last), from image column `start`
/// on.
struct Reach {
    Index first, last, start;
};
Reach reach_of(const Geometry& g, Index kx) {
    const Index s = g.options.stride;
    const Index offset = kx * g.options.dilation - g.options.padding;  // ox sees column ox * s + offset
    const Index first = offset >= 0 ? 0 : (-offset + s - 1) / s;
    const Index last = g.in_w <= offset ? 0 : std::min(g.out_w, (g.in_w - 1 - offset) / s + 1);
    return {std::min(first, g.out_w), std::max(last, std::min(first, g.out_w)), first * s + offset};
}

/// The row of the image that row oy of the outputs sees with row ky of the kernel, or -1.
Index row_seen(const Geometry& g, Index oy, Index ky) {
    const Index y = oy * g.options.stride + ky * g.options.dilation - g.options.padding;
    return y >= 0 && y < g.in_h ? y : -1;
}

/// A group's patches: patch x pixels, so that a pixel's neighbours lie beside each other as in the image.
Tensor unfold(const Geometry& g, Index group, const Tensor& x) {
    auto patches = Tensor::unset({g.patch(), g.pixels()}, x.format());
    const Index s = g.options.stride;
    const auto fill_row = [&](Index image_row, const Reach& r, Real* to) {
        if (image_row < 0) {
            std::fill_n(to, g.out_w, Real{0});
            return;
        }
        const Real* from = x.data() + image_row * g.in_w + r.start;
        std::fill_n(to, r.first, Real{0});
        if (s == 1) {
            std::copy_n(from, r.last - r.first, to + r.first);
        } else {
            for (Index ox = r.first; ox < r.last; ++ox) to[ox] = from[(ox - r.first) * s];
        }
        std::fill(to + r.last, to + g.out_w, Real{0});
    };
    in_parallel(g.images, g.patch() * g.out_h * g.out_w, [&](Index first, Index last) {
        for (Index n = first; n < last; ++n) {
            Real* to = patches.data() + n * g.out_h * g.out_w;
            for (Index c = 0; c < g.group_in(); ++c) {
                const Index plane = (n * g.in_channels + group * g.group_in() + c) * g.in_h;
                for (Index ky = 0; ky < g.kernel_h; ++ky) {
                    for (Index kx = 0; kx < g.kernel_w; ++kx, to += g.pixels()) {
                        const Reach reach = reach_of(g, kx);
                        for (Index oy = 0; oy < g.out_h; ++oy) {
                            const Index y = row_seen(g, oy, ky);
                            fill_row(y < 0 ? -1 : plane + y, reach, to + oy * g.out_w);
                        }
                    }
                }
            }
        }
    });
    return patches;
}

/// Adds each entry of a patch matrix (patch x pixels) to its pixel of x, each sum a step; a pixel's entries by
/// ascending output pixel. In a row of outputs that is by descending kernel column.
void fold(const Geometry& g, Index group, const Tensor& patches, const ComputeFormat& compute, Tensor& x) {
    const Index s = g.options.stride;
    with_steps(compute, [&](const auto& steps) {
        const auto add_row = [&](const Real* from, const Reach& r, Real* to) {
            for (Index ox = r.first; ox < r.last; ++ox) {
                Real& pixel = to[r.start + (ox - r.first) * s];
                pixel = steps.add(pixel, from[ox]);
            }
        };
        in_parallel(g.images, g.patch() * g.out_h * g.out_w, [&](Index first, Index last) {
            for (Index n = first; n < last; ++n) {
                for (Index c = 0; c < g.group_in(); ++c) {
                    const Index plane = (n * g.in_channels + group * g.group_in() + c) * g.in_h;
                    for (Index oy = 0; oy < g.out_h; ++oy) {
                        for (Index ky = 0; ky < g.kernel_h; ++ky) {
                            const Index y = row_seen(g, oy, ky);
                            if (y < 0) continue;
                            for (Index kx = g.kernel_w; kx-- > 0;) {
                                const Index row = (c * g.kernel_h + ky) * g.kernel_w + kx;
                                const Real* from = patches.data() + row * g.pixels() + (n * g.out_h + oy) * g.out_w;
                                add_row(from, reach_of(g, kx), x.data() + (plane + y) * g.in_w);
                            }
                        }
                    }
                }
            }
        });
    });
}

/// f(place in the images, place in the maps, length) for every plane of a group's channels: images are (images,
/// channels, h, w), maps are (channels of the group, pixels).
template <class Function>
void each_plane(const Geometry& g, Index group, const Function& f) {
    const Index area = g.out_h * g.out_w;
    for (Index c = 0; c < g.group_out(); ++c) {
        for (Index n = 0; n < g.images; ++n) {
            f((n * g.out_channels + group * g.group_out() + c) * area, c * g.pixels() + n * area, area);
        }
    }
}
Tensor maps_of_group(const Geometry& g, Index group, const Tensor& y) {
    auto maps = Tensor::unset({g.group_out(), g.pixels()}, y.format());
    each_plane(g, group,
               [&](Index image, Index map, Index length) { std::copy_n(y.data() + image, length, maps.data() + map); });
    return maps;
}
void put_maps(const Geometry& g, Index group, const Tensor& maps, Tensor& y) {
    each_plane(g, group,
               [&](Index image, Index map, Index length) { std::copy_n(maps.data() + map, length, y.data() + image); });
}

/// Adds its bias to each channel of (images, channels, h, w), each sum a step.
void add_channel_bias(Tensor& y, const Tensor& bias, const ComputeFormat& compute) {
    const Index area = y.dim(2) * y.dim(3);
    with_steps(compute, [&](const auto& s) {
        in_parallel(y.dim(0) * y.dim(1), area, [&](Index first, Index last) {
            for (Index plane = first; plane < last; ++plane) {
                const Real b = bias[plane % bias.size()];
                Real* p = y.data() + plane * area;
                for (Index i = 0; i < area; ++i) p[i] = s.add(p[i], b);
            }
        });
    });
}

/// What the passes of a convolution and of its transpose share.
struct ConvPass {
    Tape* tape;
    Geometry g;
    OpPrecision precision;
    std::string label;
    const ProductRules* rules;

    /// A group's rows of the weight: group_out x patch.
    [[nodiscard]] BasicMatrixView<const Real> group_weight(const Operand& w, Index group) const {
        return w.matrix(g.group_out(), g.patch(), group * g.group_out() * g.patch());
    }
    /// d = a * b. Patches and maps live beside the images, and so does what the product copies.
    void matmul_into(ProductPass pass, Gradient gradient, bool gradient_used_before, Index group, const Tensor& patches,
                     const Tensor& maps, const BasicMatrixView<const Real>& a, const BasicMatrixView<const Real>& b,
                     const BasicMatrixView<Real>& d) const {
        ByteCount bytes = scaled_matmul(tape->engine(), tape->run(), precision.product,
                                        {label, pass, gradient, rules, gradient_used_before, group}, a, b, d);
        bytes += bytes_of(patches);
        tape->note_workspace(bytes += bytes_of(maps));
    }
    /// patches -> maps of outputs, in the accumulator's format.
    Tensor forward(Index group, const Tensor& x, const Tensor& w, ProductPass pass, Gradient gradient) const {
        const ProductTypes& types = precision.product;
        const Tensor patches = unfold(g, group, x);
        auto maps = Tensor::unset({g.group_out(), g.pixels()}, types.accumulator);
        matmul_into(pass, gradient, false, group, patches, maps,
                    Operand(patches, types.input).matrix(g.patch(), g.pixels()).transposed(),
                    group_weight(Operand(w, types.b_input), group).transposed(),
                    BasicMatrixView<Real>(maps.data(), g.group_out(), g.pixels()).transposed());
        return maps;
    }
    /// maps of outputs -> patches, folded into x.
    void transposed(Index group, const Tensor& y, const Tensor& w, ProductPass pass, Gradient gradient,
                    Tensor& x) const {
        const ProductTypes& types = precision.product;
        auto patches = Tensor::unset({g.patch(), g.pixels()}, types.accumulator);
        {
            const Tensor maps = maps_of_group(g, group, y);
            matmul_into(pass, gradient, false, group, patches, maps,
                        Operand(maps, types.input).matrix(g.group_out(), g.pixels()).transposed(),
                        group_weight(Operand(w, types.b_input), group),
                        BasicMatrixView<Real>(patches.data(), g.patch(), g.pixels()).transposed());
        }
        patches.round_to_format(precision.compute);
        fold(g, group, patches, precision.compute, x);
    }
    /// The gradient of a group's weight from outputs (or what stands for them) and inputs.
    void weight_gradient(Index group, const Tensor& y, const Tensor& x, Gradient gradient, bool gradient_used_before,
                         Tensor& dw) const {
        const ProductTypes& types = precision.product;
        const Tensor maps = maps_of_group(g, group, y);
        const Tensor patches = unfold(g, group, x);
        matmul_into(ProductPass::weight_gradient, gradient, gradient_used_before, group, patches, maps,
                    Operand(maps, types.input).matrix(g.group_out(), g.pixels()),
                    Operand(patches, types.b_input).matrix(g.patch(), g.pixels()).transposed(),
                    BasicMatrixView<Real>(dw.data() + group * g.group_out() * g.patch(), g.group_out(), g.patch()));
    }
};

/// The sum over images and pixels of each channel: images in order, pixels in order.
Tensor channel_sums(const Tensor& dy, const ComputeFormat& compute) {
    const Index channels = dy.dim(1);
    const Index area = dy.dim(2) * dy.dim(3);
    Tensor sums({channels});
    // Several channels side by side, whose sums do not wait for each other.
    constexpr Index side_by_side = 8;
    with_steps(compute, [&](const auto& s) {
        in_parallel((channels + side_by_side - 1) / side_by_side, side_by_side * dy.dim(0) * area,
                    [&](Index first_block, Index last_block) {
                        for (Index block = first_block; block < last_block; ++block) {
                            const Index first = block * side_by_side;
                            const Index count = std::min(side_by_side, channels - first);
                            std::array<Real, side_by_side> sum{};
                            for (Index n = 0; n < dy.dim(0); ++n) {
                                const Real* planes = dy.data() + (n * channels + first) * area;
                                for (Index p = 0; p < area; ++p) {
                                    for (Index c = 0; c < count; ++c) {
                                        Real& own = sum[static_cast<std::size_t>(c)];
                                        own = s.add(own, planes[c * area + p]);
                                    }
                                }
                            }
                            std::copy_n(sum.begin(), count, sums.data() + first);
                        }
                    });
    });
    sums.set_format(compute.format);
    return sums;
}

}  // namespace

Var conv2d(Var x, Var weight, const std::optional<Var>& given_bias, const ConvOptions& options) {
    const Tensor none({weight.value().rank() == 4 ? weight.dim(0) : 0});
    const Geometry g = conv_geometry(x.value(), weight.value(), given_bias ? given_bias->value() : none, options);
    const Operation op("conv2d", inputs_with(x, weight, given_bias));
    x = op.input(0), weight = op.input(1);
    const std::optional<Var> bias = given_bias ? std::optional(op.input(2)) : std::nullopt;
    const ConvPass pass{&op.tape(), g, op.precision(), op.label(), op.rules()};
    Tensor y;
    for (Index group = 0; group < options.groups; ++group) {
        const Tensor maps = pass.forward(group, x.value(), weight.value(), ProductPass::forward, Gradient::none);
        if (group == 0) y = Tensor::unset({g.images, g.out_channels, g.out_h, g.out_w}, maps.format());
        put_maps(g, group, maps, y);
    }
    y.round_to_format(pass.precision.compute);
    if (bias) add_channel_bias(y, bias->value(), pass.precision.compute);
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor&) {
        const ComputeFormat compute = pass.precision.compute;
        if (tape->needs_gradient(x)) {
            Tensor dx(x.shape());
            for (Index group = 0; group < g.options.groups; ++group) {
                pass.transposed(group, dy, weight.value(), ProductPass::input_gradient, Gradient::a, dx);
            }
            dx.set_format(compute.format);
            tape->accumulate(x, std::move(dx));
        }
        if (tape->needs_gradient(weight)) {
            Tensor dw(weight.shape());
            for (Index group = 0; group < g.options.groups; ++group)
                pass.weight_gradient(group, dy, x.value(), Gradient::a, tape->needs_gradient(x), dw);
            tape->accumulate(weight, std::move(dw));
        }
        if (bias && tape->needs_gradient(*bias)) tape->accumulate(*bias, channel_sums(dy, compute));
    });
}

Var conv_transpose2d(Var x, Var weight, Var bias, const ConvOptions& o) {
    const Tensor& w = weight.value();
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
    const Operation op("conv_transpose2d", {x, weight, bias});
    x = op.input(0), weight = op.input(1), bias = op.input(2);
    const ConvPass pass{&op.tape(), g, op.precision(), op.label(), op.rules()};
    const ComputeFormat compute = pass.precision.compute;
    Tensor y({g.images, g.in_channels, g.in_h, g.in_w});
    for (Index group = 0; group < o.groups; ++group)
        pass.transposed(group, x.value(), weight.value(), ProductPass::forward, Gradient::none, y);
    add_channel_bias(y, bias.value(), compute);
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor&) {
        if (tape->needs_gradient(x)) {
            Tensor dx(x.shape());
            for (Index group = 0; group < g.options.groups; ++group) {
                put_maps(g, group, pass.forward(group, dy, weight.value(), ProductPass::input_gradient, Gradient::a),
                         dx);
            }
            dx.set_format(pass.precision.product.accumulator);
            tape->accumulate(x, std::move(dx));
        }
        if (tape->needs_gradient(weight)) {
            Tensor dw(weight.shape());
            for (Index group = 0; group < g.options.groups; ++group)
                pass.weight_gradient(group, x.value(), dy, Gradient::b, tape->needs_gradient(x), dw);
            tape->accumulate(weight, std::move(dw));
        }
        if (tape->needs_gradient(bias)) tape->accumulate(bias, channel_sums(dy, compute));
    });
}

Var conv1d(Var x, Var weight, Var bias, const ConvOptions& options) {
    if (x.value().rank() != 3 || weight.value().rank() != 3 || options.padding < 0) {
        refuse("conv1d", x.value(), weight.value(), bias.value());
    }
    // As a convolution of images one pixel high; padding would make them higher, so it is put on before.
    Var padded = x;
    if (options.padding > 0) {
        Tensor zeros({x.dim(0), x.dim(1), options.padding}, x.format());
        const Var side = x.tape->constant(std::move(zeros));
        padded = concat({side, x, side}, 2);
    }
    ConvOptions flat = options;
    flat.padding = 0;
    const Var image = reshape(padded, {padded.dim(0), padded.dim(1), 1, padded.dim(2)});
    const Var kernel = reshape(weight, {weight.dim(0), weight.dim(1), 1, weight.dim(2)});
    const Var y = conv2d(image, kernel, bias, flat);
    return reshape(y, {y.dim(0), y.dim(1), y.dim(3)});
}

}  // namespace ulp::inline ULPLAB_MODE
