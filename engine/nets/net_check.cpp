// Whether the layers of a net fit each other, said with the place of the one that does not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "engine/nets/net.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& why) {
    throw DataError(fmt::format("{} {}", place, why));
}

/// What goes through a net, and the names that it has met.
struct Walk {
    Index outputs;
    std::set<std::string> names{};
    Shape memory{};  // what the encoder made; empty outside a decoder

    Shape through(const Layers& layers, Shape shape, bool& tokens, const std::string& place);
    Shape behind(const Layer& layer, const Shape& in, bool& tokens, const std::string& place);
    Shape behind_both(const Layer& layer, const Shape& in, bool& tokens, const std::string& place);
    void require_memory(const Layer& layer, const Shape& in, const std::string& place) const;
};

/// Dimensions of the examples that a layer takes.
bool takes_rank(LayerKind kind, std::size_t rank) {
    switch (kind) {
        case LayerKind::conv:
        case LayerKind::pool:
        case LayerKind::average_pool:
        case LayerKind::batch_norm:
        case LayerKind::global_average: return rank == 3;
        case LayerKind::attention:
        case LayerKind::grouped_attention:
        case LayerKind::cross_attention:
        case LayerKind::places:
        case LayerKind::lstm:
        case LayerKind::gru: return rank == 2;
        case LayerKind::encoder_decoder:
        case LayerKind::embedding: return rank == 1;
        default: return true;
    }
}

bool takes_lists(LayerKind kind) {
    return kind == LayerKind::branches || kind == LayerKind::sum || kind == LayerKind::product ||
           kind == LayerKind::experts;
}

void require_divides(Index divisor, Index number, const std::string& place, const char* what) {
    if (number % divisor == 0) return;
    refuse(place, fmt::format("has {} {}, which do not divide {}", divisor, what, number));
}

void require_own_rule(const Layer& layer, const Shape& in, const std::string& place) {
    if (layer.kind == LayerKind::attention) require_divides(layer.size, in[1], place, "heads");
    if (layer.kind == LayerKind::grouped_attention) {
        if (layer.head_width == 0) require_divides(layer.size, in[1], place, "heads");
        if (layer.key_value_heads != 0) {
            require_divides(layer.key_value_heads, layer.size, place, "heads of keys and values");
        }
        const Index each = layer.head_width == 0 ? in[1] / layer.size : layer.head_width;
        if (layer.rotary != 0 && !(layer.rotary > 1)) {
            refuse(place + "/rotary", fmt::format("is {}; give a base above 1", layer.rotary));
        }
        if (layer.rotary != 0) require_divides(2, each, place, "numbers in a pair of rotary places");
    }
    if (layer.kind == LayerKind::experts && layer.size > static_cast<Index>(layer.inside.size())) {
        refuse(place + "/top", fmt::format("is {} of {} experts", layer.size, layer.inside.size()));
    }
    if (layer.kind == LayerKind::experts && in.size() == 3)
        refuse(place, fmt::format("takes no images {}", text_of(in)));
    if (!(layer.eps > 0)) refuse(place + "/eps", fmt::format("is {}; give a positive number", layer.eps));
    if (!(layer.momentum > 0 && layer.momentum <= 1)) {
        refuse(place + "/momentum", fmt::format("is {}; give a number above 0, to 1", layer.momentum));
    }
    if (layer.kind == LayerKind::tokens) require_divides(layer.size, volume(in), place, "rows");
    if (layer.kind == LayerKind::global_average && in[1] != in[2]) {
        refuse(place, fmt::format("averages squares, not {}", text_of(in)));
    }
    if (layer.kind == LayerKind::conv && layer.kernel > std::min(in[1], in[2]) + 2 * padding_of(layer)) {
        refuse(place + "/kernel", fmt::format("is {}, on images of {}", layer.kernel, text_of(in)));
    }
    if (layer.kind == LayerKind::conv) {
        require_divides(layer.groups, in[0], place, "groups of channels");
        require_divides(layer.groups, layer.size, place, "groups of channels");
    }
    if (!(layer.dropout >= 0 && layer.dropout < 1)) {
        refuse(place + "/dropout", fmt::format("is {}; give a number from 0 to less than 1", layer.dropout));
    }
    if (layer.kind == LayerKind::dropout && !(layer.factor >= 0 && layer.factor < 1)) {
        refuse(place + "/rate", fmt::format("is {}; give a number from 0 to less than 1", layer.factor));
    }
}

void Walk::require_memory(const Layer& layer, const Shape& in, const std::string& place) const {
    if (layer.kind != LayerKind::cross_attention) return;
    if (memory.empty()) refuse(place, "looks at an encoder's results; put it into the decoder of an encoder_decoder");
    if (memory[1] == in[1]) return;
    refuse(place, fmt::format("has the width {}, the encoder's results {}", in[1], memory[1]));
}

/// Of an encoder and its decoder.
Shape Walk::behind_both(const Layer& layer, const Shape& in, bool& tokens, const std::string& place) {
    if (!memory.empty()) refuse(place, "stands inside a decoder");
    if (!tokens) refuse(place, "takes tokens; put it before all other layers");
    if (layer.size >= in[0]) refuse(place + "/source", fmt::format("is {} of {} tokens", layer.size, in[0]));
    bool of_source = true;
    const Shape made = through(layer.inside[0], {layer.size}, of_source, place + "/encoder");
    if (of_source || made.size() != 2 || made[0] != layer.size) {
        refuse(place + "/encoder",
               fmt::format("ends with {}; it must give a row for each of its {} tokens", text_of(made), layer.size));
    }
    memory = made;
    Shape end = through(layer.inside[1], {in[0] - layer.size}, tokens, place + "/decoder");
    memory.clear();
    return end;
}

Shape Walk::behind(const Layer& layer, const Shape& in, bool& tokens, const std::string& place) {
    if (!layer.name.empty() && !names.insert(layer.name).second) {
        refuse(place + "/name", fmt::format("is \"{}\", which another layer has, too", layer.name));
    }
    const bool is_group = !layer.inside.empty();
    if (tokens != (layer.kind == LayerKind::embedding) && !is_group) {
        refuse(place, tokens ? "takes no tokens; begin with an embedding" : "takes tokens, not numbers");
    }
    if (!takes_rank(layer.kind, in.size()))
        refuse(place, fmt::format("takes no examples of the shape {}", text_of(in)));
    require_own_rule(layer, in, place);
    require_memory(layer, in, place);
    if (layer.kind == LayerKind::encoder_decoder) return behind_both(layer, in, tokens, place);
    const std::string lists = place + (layer.kind == LayerKind::experts ? "/experts" : "/branches");
    if (layer.inside.empty() && takes_lists(layer.kind)) refuse(lists, "is empty");
    std::vector<Shape> ends;
    const bool tokens_before = tokens;
    for (std::size_t i = 0; i < layer.inside.size(); ++i) {
        tokens = tokens_before;
        const bool one = layer.kind == LayerKind::sequence || layer.kind == LayerKind::residual;
        const bool experts = layer.kind == LayerKind::experts;
        const std::string at = one ? place + "/inside" : fmt::format("{}/{}", lists, i);
        ends.push_back(through(layer.inside[i], experts ? Shape{in.back()} : in, tokens, at));
    }
    tokens = tokens && layer.kind != LayerKind::embedding;
    if (layer.kind == LayerKind::residual && ends.front() != in) {
        refuse(place, fmt::format("adds {} to {}", text_of(ends.front()), text_of(in)));
    }
    if (layer.kind == LayerKind::experts && ends.front() != Shape{in.back()}) {
        refuse(place, fmt::format("adds {} to rows of {}", text_of(ends.front()), in.back()));
    }
    for (const Shape& end : ends) {
        if (layer.kind != LayerKind::branches && end != ends.front()) {
            refuse(place, fmt::format("puts {} and {} together", text_of(ends.front()), text_of(end)));
        }
        if (end.size() != ends.front().size() || !std::equal(end.begin() + 1, end.end(), ends.front().begin() + 1)) {
            refuse(place, fmt::format("puts {} beside {}", text_of(ends.front()), text_of(end)));
        }
    }

    return shape_behind(layer, in, outputs);
}

Shape Walk::through(const Layers& layers, Shape shape, bool& tokens, const std::string& place) {
    constexpr Index most = Index{1} << 31;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string at = fmt::format("{}/{}", place, i);
        Shape next = behind(layers[i], shape, tokens, at);
        for (const Index extent : next) {
            if (extent < 1) refuse(at, fmt::format("leaves nothing of {}: {}", text_of(shape), text_of(next)));
        }
        if (volume(next) > most || parameters_of(layers[i], shape, outputs) > most) {
            refuse(at, "has more than 2^31 numbers or parameters");
        }
        shape = std::move(next);
    }
    return shape;
}

}  // namespace

void require_fitting(const NetDescription& net) {
    if (net.input.tokens > 0 && net.input.shape.size() != 1) refuse("/input/shape", "of tokens is their number alone");
    double numbers = 1;
    for (const Index extent : net.input.shape) numbers *= static_cast<double>(extent);
    if (numbers > 0x1p31) refuse("/input/shape", "has more than 2^31 numbers");
    if (net.layers.empty()) refuse("/layers", "is empty");
    Walk walk{net.outputs};
    bool tokens = net.input.tokens > 0;
    const Shape end = walk.through(net.layers, net.input.shape, tokens, "/layers");
    const Index answers = net.input.shape[0] - source_of(net.layers);
    const Shape wanted = net.input.tokens > 0 ? Shape{answers, net.outputs} : Shape{net.outputs};
    if (end != wanted)
        refuse("/layers", fmt::format("end with {} where the net's answer is {}", text_of(end), text_of(wanted)));
}

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

Index padding_of(const Layer& layer) { return layer.padding.value_or(layer.kernel / 2); }

Index inputs_of(const Shape& in) { return in.size() == 3 ? volume(in) : in.back(); }

Shape shape_behind(const Layer& layer, const Shape& in, Index classes) {
    switch (layer.kind) {
        case LayerKind::linear: {
            const Index outputs = layer.size == 0 ? classes : layer.size;
            return in.size() == 2 ? Shape{in[0], outputs} : Shape{outputs};
        }
        case LayerKind::conv: {
            require_rank(layer, in, 3);
            const auto side = [&](Index s) { return (s + 2 * padding_of(layer) - layer.kernel) / layer.stride + 1; };
            return {layer.size, side(in[1]), side(in[2])};
        }
        case LayerKind::average_pool:
        case LayerKind::pool: require_rank(layer, in, 3); return {in[0], in[1] / layer.size, in[2] / layer.size};
        case LayerKind::global_average: require_rank(layer, in, 3); return {in[0]};
        case LayerKind::tokens: return {layer.size, volume(in) / layer.size};
        case LayerKind::flatten: return {volume(in)};
        case LayerKind::embedding: require_rank(layer, in, 1); return {in[0], layer.size};
        case LayerKind::lstm:
        case LayerKind::gru: require_rank(layer, in, 2); return {in[0], layer.size};
        case LayerKind::sequence:
        case LayerKind::sum:
        case LayerKind::product: return behind_all(layer.inside.front(), in, classes);
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
        case LayerKind::linear: return (inputs_of(in) + Index{layer.biased}) * out.back();
        case LayerKind::conv:
            return (in[0] / layer.groups * layer.kernel * layer.kernel + Index{layer.biased}) * out[0];
        case LayerKind::batch_norm: return 2 * in[0];
        case LayerKind::rms_norm: return in.back();
        case LayerKind::experts: return sum + in.back() * static_cast<Index>(layer.inside.size());
        case LayerKind::grouped_attention: {
            const Index each = layer.head_width == 0 ? in[1] / layer.size : layer.head_width;
            const Index all = layer.size * each;
            const Index few = (layer.key_value_heads == 0 ? layer.size : layer.key_value_heads) * each;
            return (in[1] + Index{layer.biased}) * (all + 2 * few) + (all + Index{layer.out_biased}) * in[1];
        }
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
