#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "engine/nets/net.hpp"

namespace ulp {
namespace layers {

Layer linear(std::string name, Index outputs) { return {LayerKind::linear, std::move(name), outputs}; }
Layer conv(std::string name, Index channels, Index kernel, Index stride) {
    return {LayerKind::conv, std::move(name), channels, kernel, stride};
}
Layer batch_norm(std::string name) { return {LayerKind::batch_norm, std::move(name)}; }
Layer layer_norm(std::string name) { return {LayerKind::layer_norm, std::move(name)}; }
Layer attention(std::string name, Index heads, bool causal) {
    return {.kind = LayerKind::attention, .name = std::move(name), .size = heads, .causal = causal};
}
Layer cross_attention(std::string name) { return {LayerKind::cross_attention, std::move(name)}; }
Layer encoder_decoder(Index source, Layers encoder, Layers decoder) {
    return {.kind = LayerKind::encoder_decoder, .size = source, .inside = {std::move(encoder), std::move(decoder)}};
}
Layer embedding(std::string name, Index words, Index width) {
    return {.kind = LayerKind::embedding, .name = std::move(name), .size = width, .words = words};
}
Layer places(std::string name) { return {LayerKind::places, std::move(name)}; }
Layer lstm(std::string name, Index width) { return {LayerKind::lstm, std::move(name), width}; }
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

}  // namespace

Index source_of(const Layers& net) {
    return net.size() == 1 && net.front().kind == LayerKind::encoder_decoder ? net.front().size : 0;
}

Index inputs_of(const Shape& in) { return in.size() == 3 ? volume(in) : in.back(); }

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
        case LayerKind::embedding: require_rank(layer, in, 1); return {in[0], layer.size};
        case LayerKind::lstm:
        case LayerKind::gru: require_rank(layer, in, 2); return {in[0], layer.size};
        case LayerKind::sequence: return behind_all(layer.inside.front(), in, classes);
        case LayerKind::branches: {
            Shape shape = behind_all(layer.inside.front(), in, classes);
            shape[0] = 0;
            for (const Layers& branch : layer.inside) shape[0] += behind_all(branch, in, classes)[0];
            return shape;
        }
        case LayerKind::encoder_decoder: return behind_all(layer.inside[1], {in[0] - layer.size}, classes);
        default: return in;
    }
}

Index parameters_of(const Layer& layer, const Shape& in, Index classes) {
    const Shape out = shape_behind(layer, in, classes);
    if (layer.kind == LayerKind::encoder_decoder) {
        return parameters_of(layer.inside[0], {layer.size}, classes) +
               parameters_of(layer.inside[1], {in[0] - layer.size}, classes);
    }
    Index sum = 0;
    for (const Layers& inside : layer.inside) sum += parameters_of(inside, in, classes);
    switch (layer.kind) {
        case LayerKind::linear: return (inputs_of(in) + 1) * out.back();
        case LayerKind::conv: return (in[0] * layer.kernel * layer.kernel + 1) * out[0];
        case LayerKind::batch_norm: return 2 * in[0];
        case LayerKind::layer_norm: return 2 * in.back();
        case LayerKind::attention:
        case LayerKind::cross_attention: return 4 * in.back() * (in.back() + 1);
        case LayerKind::embedding: return layer.words * layer.size;
        case LayerKind::places: return volume(in);
        case LayerKind::lstm: return 4 * layer.size * (in.back() + layer.size + 2);
        case LayerKind::gru: return 3 * layer.size * (in.back() + layer.size + 2);
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

}  // namespace ulp
