// Whether the layers of a net fit each other, said with the place of the one that does not.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/nets/net_json.hpp"
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
        case LayerKind::batch_norm:
        case LayerKind::global_average: return rank == 3;
        case LayerKind::attention:
        case LayerKind::cross_attention:
        case LayerKind::places:
        case LayerKind::lstm:
        case LayerKind::gru: return rank == 2;
        case LayerKind::encoder_decoder:
        case LayerKind::embedding: return rank == 1;
        default: return true;
    }
}

void require_divides(Index divisor, Index number, const std::string& place, const char* what) {
    if (number % divisor == 0) return;
    refuse(place, fmt::format("has {} {}, which do not divide {}", divisor, what, number));
}

void require_own_rule(const Layer& layer, const Shape& in, const std::string& place) {
    if (layer.kind == LayerKind::attention) require_divides(layer.size, in[1], place, "heads");
    if (layer.kind == LayerKind::tokens) require_divides(layer.size, volume(in), place, "rows");
    if (layer.kind == LayerKind::global_average && in[1] != in[2]) {
        refuse(place, fmt::format("averages squares, not {}", text_of(in)));
    }
    if (layer.kind == LayerKind::conv && layer.kernel > 2 * std::min(in[1], in[2]) + 1) {
        refuse(place + "/kernel", fmt::format("is {}, on images of {}", layer.kernel, text_of(in)));
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
    std::vector<Shape> ends;
    const bool tokens_before = tokens;
    for (std::size_t i = 0; i < layer.inside.size(); ++i) {
        tokens = tokens_before;
        const bool one = layer.kind != LayerKind::branches;
        ends.push_back(
            through(layer.inside[i], in, tokens, one ? place + "/inside" : fmt::format("{}/branches/{}", place, i)));
    }
    tokens = tokens && layer.kind != LayerKind::embedding;
    if (layer.kind == LayerKind::residual && ends.front() != in) {
        refuse(place, fmt::format("adds {} to {}", text_of(ends.front()), text_of(in)));
    }
    for (const Shape& end : ends) {
        if (end.size() != ends.front().size() || !std::equal(end.begin() + 1, end.end(), ends.front().begin() + 1)) {
            refuse(place, fmt::format("puts {} beside {}", text_of(ends.front()), text_of(end)));
        }
    }
    if (layer.kind == LayerKind::branches && ends.empty()) refuse(place + "/branches", "is empty");
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

}  // namespace ulp
