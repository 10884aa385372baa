#include "experiments/training/net.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "engine/layers/attention.hpp"

namespace ulp {
namespace layers {

Layer linear(std::string name, Index outputs) { return {LayerKind::linear, std::move(name), outputs}; }
Layer conv(std::string name, Index channels, Index kernel, Index stride) {
    return {LayerKind::conv, std::move(name), channels, kernel, stride};
}
Layer batch_norm(std::string name) { return {LayerKind::batch_norm, std::move(name)}; }
Layer layer_norm(std::string name) { return {LayerKind::layer_norm, std::move(name)}; }
Layer attention(std::string name, Index heads) { return {LayerKind::attention, std::move(name), heads}; }
Layer relu() { return {LayerKind::relu}; }
Layer gelu() { return {LayerKind::gelu}; }
Layer pool(Index window) { return {LayerKind::pool, {}, window}; }
Layer global_average() { return {LayerKind::global_average}; }
Layer scale(double factor) { return {.kind = LayerKind::scale, .factor = factor}; }
Layer tokens(Index rows) { return {LayerKind::tokens, {}, rows}; }
Layer flatten() { return {LayerKind::flatten}; }
Layer residual(Layers inside) { return {.kind = LayerKind::residual, .inside = {std::move(inside)}}; }
Layer branches(std::vector<Layers> inside) { return {.kind = LayerKind::branches, .inside = std::move(inside)}; }

Layer conv_unit(const std::string& name, Index channels, Index kernel, Index stride, bool activate) {
    Layers inside = {conv(name + ".conv", channels, kernel, stride), batch_norm(name + ".bn")};
    if (activate) inside.push_back(relu());
    return {.kind = LayerKind::sequence, .inside = {std::move(inside)}};
}

}  // namespace layers

namespace {

Shape behind_all(const Layers& net, Shape shape, Index classes) {
    for (const Layer& layer : net) shape = shape_behind(layer, shape, classes);
    return shape;
}

void require_rank(const Layer& layer, const Shape& in, std::size_t rank) {
    if (in.size() == rank) return;
    throw std::invalid_argument(
        fmt::format("layer \"{}\" takes examples of {} dimensions, not ({})", layer.name, rank, fmt::join(in, ", ")));
}

/// What a linear layer sees of an example.
Index inputs_of(const Shape& in) { return in.size() == 3 ? volume(in) : in.back(); }

}  // namespace

Shape shape_behind(const Layer& layer, const Shape& in, Index classes) {
    switch (layer.kind) {
        case LayerKind::linear: {
            const Index outputs = layer.size == 0 ? classes : layer.size;
            return in.size() == 2 ? Shape{in[0], outputs} : Shape{outputs};
        }
        case LayerKind::conv: {
            require_rank(layer, in, 3);
            const auto side = [&](Index s) { return (s + 2 * (layer.kernel / 2) - layer.kernel) / layer.stride + 1; };
            return {layer.size, side(in[1]), side(in[2])};
        }
        case LayerKind::pool: require_rank(layer, in, 3); return {in[0], in[1] / layer.size, in[2] / layer.size};
        case LayerKind::global_average: require_rank(layer, in, 3); return {in[0]};
        case LayerKind::tokens: return {layer.size, volume(in) / layer.size};
        case LayerKind::flatten: return {volume(in)};
        case LayerKind::sequence: return behind_all(layer.inside.front(), in, classes);
        case LayerKind::branches: {
            Shape shape = behind_all(layer.inside.front(), in, classes);
            shape[0] = 0;
            for (const Layers& branch : layer.inside) shape[0] += behind_all(branch, in, classes)[0];
            return shape;
        }
        default: return in;
    }
}

Index parameters_of(const Layer& layer, const Shape& in, Index classes) {
    const Shape out = shape_behind(layer, in, classes);
    Index sum = 0;
    for (const Layers& inside : layer.inside) sum += parameters_of(inside, in, classes);
    switch (layer.kind) {
        case LayerKind::linear: return (inputs_of(in) + 1) * out.back();
        case LayerKind::conv: return (in[0] * layer.kernel * layer.kernel + 1) * out[0];
        case LayerKind::batch_norm: return 2 * in[0];
        case LayerKind::layer_norm: return 2 * in.back();
        case LayerKind::attention: return 4 * in.back() * (in.back() + 1);
        default: return sum;
    }
}

Index parameters_of(const Layers& net, Shape in, Index classes) {
    Index sum = 0;
    for (const Layer& layer : net) {
        sum += parameters_of(layer, in, classes);
        in = shape_behind(layer, in, classes);
    }
    return sum;
}

namespace {

using Step = std::function<Var(Var)>;

/// Images that come in rows in their shape.
Var in_shape(Var x, const Shape& in) {
    return x.value().rank() == 2 && in.size() == 3 ? reshape(x, {x.dim(0), in[0], in[1], in[2]}) : x;
}
Var in_rows(Var x) { return x.value().rank() > 2 ? reshape(x, {x.dim(0), x.value().size() / x.dim(0)}) : x; }

Step linear_step(Model& model, const Layer& layer, const Shape& in, Index classes) {
    const Linear linear(model, layer.name, inputs_of(in), layer.size == 0 ? classes : layer.size);
    return [linear, flat = in.size() == 3](Var x) { return linear(flat ? in_rows(x) : x); };
}

/// The lists inside, each a net.
std::vector<Net> nets_inside(Model& model, const Layer& layer, const Shape& in, Index classes) {
    std::vector<Net> nets;
    for (const Layers& inside : layer.inside) nets.emplace_back(model, inside, in, classes);
    return nets;
}

Step group_step(Model& model, const Layer& layer, const Shape& in, Index classes) {
    const std::vector<Net> nets = nets_inside(model, layer, in, classes);
    if (layer.kind == LayerKind::sequence) return nets.front();
    if (layer.kind == LayerKind::residual) return [net = nets.front()](Var x) { return residual(x, net); };
    return [nets](Var x) {
        std::vector<Var> parts;
        for (const Net& net : nets) parts.push_back(net(x));
        return concat(parts, 1);
    };
}

Step step_of(Model& model, const Layer& layer, const Shape& in, Index classes) {
    switch (layer.kind) {
        case LayerKind::linear: return linear_step(model, layer, in, classes);
        case LayerKind::conv:
            return [in, conv = Conv2d(model, layer.name, in[0], layer.size, layer.kernel,
                                      {.stride = layer.stride, .padding = layer.kernel / 2})](Var x) {
                return conv(in_shape(x, in));
            };
        case LayerKind::batch_norm: return BatchNorm(model, layer.name, in[0], {.momentum = 0.3});
        case LayerKind::layer_norm: return LayerNorm(model, layer.name, in.back());
        case LayerKind::attention:
            return [attention = MultiHeadAttention(model, layer.name, in.back(), layer.size)](Var x) {
                return attention(x, false);
            };
        case LayerKind::relu: return [](Var x) { return relu(x); };
        case LayerKind::gelu: return [](Var x) { return gelu(x); };
        case LayerKind::pool: return [window = layer.size](Var x) { return max_pool2d(x, window); };
        case LayerKind::global_average: return [](Var x) { return in_rows(avg_pool2d(x, x.dim(2))); };
        case LayerKind::scale: return [factor = layer.factor](Var x) { return scaled(x, factor); };
        case LayerKind::tokens:
            return [rows = layer.size](Var x) {
                return reshape(x, {x.dim(0), rows, x.value().size() / x.dim(0) / rows});
            };
        case LayerKind::flatten: return in_rows;
        default: return group_step(model, layer, in, classes);
    }
}

}  // namespace

Net::Net(Model& model, const Layers& net, Shape in, Index classes) {
    for (const Layer& layer : net) {
        Shape out = shape_behind(layer, in, classes);
        steps_.push_back(step_of(model, layer, in, classes));
        in = std::move(out);
    }
}

Var Net::until(Var x, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) x = steps_[i](x);
    return x;
}

}  // namespace ulp
