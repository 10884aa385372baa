#include "engine/nets/net.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "engine/data/generated.hpp"
#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/nets/blocks.hpp"

namespace ulp {
namespace {

using Step = std::function<Var(Var, const Net::Memory*)>;
using PlainStep = std::function<Var(Var)>;

/// Images that come in rows in their shape.
Var in_shape(Var x, const Shape& in) {
    return x.value().rank() == 2 && in.size() == 3 ? reshape(x, {x.dim(0), in[0], in[1], in[2]}) : x;
}
Var in_rows(Var x) { return x.value().rank() > 2 ? reshape(x, {x.dim(0), x.value().size() / x.dim(0)}) : x; }

PlainStep linear_step(Model& model, const Layer& layer, const Shape& in, Index classes) {
    const Linear linear(model, layer.name, inputs_of(in), layer.size == 0 ? classes : layer.size, layer.biased);
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
    if (layer.kind == LayerKind::residual) {
        return [net = nets.front()](Var x, const Net::Memory* memory) {
            return residual(x, [&](Var inside) { return net(inside, memory); });
        };
    }
    return [nets, kind = layer.kind](Var x, const Net::Memory* memory) {
        std::vector<Var> parts;
        for (const Net& net : nets) parts.push_back(net(x, memory));
        if (kind == LayerKind::branches) return concat(parts, 1);
        Var y = parts.front();
        for (std::size_t i = 1; i < parts.size(); ++i)
            y = kind == LayerKind::sum ? add(y, parts[i]) : multiply(y, parts[i]);
        return y;
    };
}

/// Which rows an expert has: those with a weight that is not 0.
std::vector<int> rows_with(const Tensor& weights, Index expert) {
    std::vector<int> rows;
    for (Index row = 0; row < weights.dim(0); ++row) {
        if (weights[row * weights.dim(1) + expert] != 0) rows.push_back(static_cast<int>(row));
    }
    return rows;
}

Step experts_step(Model& model, const Layer& layer, const Shape& in, Index classes) {
    const Linear gate(model, layer.name + ".gate", in.back(), static_cast<Index>(layer.inside.size()), false);
    const std::vector<Net> nets = nets_inside(model, layer, {in.back()}, classes);
    return [gate, nets, name = layer.name, count = layer.size](Var x, const Net::Memory*) {
        const Shape shape = x.shape();
        x = reshape(x, {x.value().rows_of(x.dim(-1)), x.dim(-1)});
        const Var scores = gate(x);
        const Tape::Scope scope(*x.tape, name);
        const Var weights = x.tape->stored(top_k_softmax(scores, count));
        std::vector<Var> parts;
        std::vector<std::vector<int>> rows;
        for (std::size_t e = 0; e < nets.size(); ++e) {
            const auto expert = static_cast<Index>(e);
            std::vector<int> own = rows_with(weights.value(), expert);
            if (own.empty()) continue;
            const Var w = select_rows(slice(weights, 1, expert, 1), own);
            const Var made = nets[e](select_rows(x, own), nullptr);
            parts.push_back(multiply_rows(made, w));
            rows.push_back(std::move(own));
        }
        return reshape(add_rows(parts, rows, x.dim(0)), shape);
    };
}

PlainStep grouped_attention_step(Model& model, const Layer& layer, const Shape& in) {
    GroupedAttentionOptions how{layer.size,   layer.key_value_heads, layer.head_width,
                                layer.causal, layer.biased,          layer.out_biased};
    how.dropout = layer.dropout;
    if (layer.rotary != 0) how.rotary = {layer.rotary, layer.adjacent};
    return GroupedAttention(model, layer.name, in.back(), how);
}

/// (examples, rows, tokens): -10000 where a token is padding.
Var padding_penalty(Var tokens, Index rows) {
    const Index length = tokens.dim(1);
    Tensor penalty({tokens.dim(0), rows, length});
    for (Index i = 0; i < penalty.size(); ++i) {
        const float token = tokens.value()[i / (rows * length) * length + i % length];
        penalty[i] = token == static_cast<float>(padding_token) ? -10000.0F : 0.0F;
    }
    return tokens.tape->input(std::move(penalty));
}

Step encoder_decoder_step(Model& model, const Layer& layer, const Shape& in, Index classes) {
    const Index target = in[0] - layer.size;
    const Net encoder(model, layer.inside[0], {layer.size}, classes);
    const Net decoder(model, layer.inside[1], {target}, classes);
    return [encoder, decoder, source = layer.size, target](Var x, const Net::Memory*) {
        const Var read = slice(x, 1, 0, source);
        const Net::Memory memory{encoder(read), padding_penalty(read, target)};
        return decoder(slice(x, 1, source, target), &memory);
    };
}

/// Tokens come as numbers.
PlainStep embedding_step(const Embedding& table) {
    return [table](Var x) {
        const std::vector<int> ids(x.value().values().begin(), x.value().values().end());
        return table(*x.tape, ids, x.shape());
    };
}

PlainStep places_step(const Embedding& table) {
    return [table](Var x) {
        std::vector<int> order(static_cast<std::size_t>(x.dim(1)));
        std::iota(order.begin(), order.end(), 0);
        const Var rows = table(*x.tape, order, {x.dim(1)});
        return add(x, rows);
    };
}

/// Recurrent layers take time first.
template <class Cell>
PlainStep over_time(const Cell& cell) {
    return [cell](Var x) { return permute(cell(permute(x, {1, 0, 2})), {1, 0, 2}); };
}

PlainStep plain_step(Model& model, const Layer& layer, const Shape& in, Index classes) {
    switch (layer.kind) {
        case LayerKind::linear: return linear_step(model, layer, in, classes);
        case LayerKind::conv:
            return [in, conv = Conv2d(model, layer.name, in[0], layer.size, layer.kernel,
                                      {.stride = layer.stride, .padding = padding_of(layer), .groups = layer.groups},
                                      layer.biased)](Var x) { return conv(in_shape(x, in)); };
        case LayerKind::batch_norm: return BatchNorm(model, layer.name, in[0], {layer.eps, layer.momentum});
        case LayerKind::layer_norm: return LayerNorm(model, layer.name, in.back(), layer.eps);
        case LayerKind::rms_norm: return RmsNorm(model, layer.name, in.back(), layer.eps);
        case LayerKind::grouped_attention: return grouped_attention_step(model, layer, in);
        case LayerKind::attention:
            return [causal = layer.causal, attention = MultiHeadAttention(model, layer.name, in.back(), layer.size,
                                                                          {.dropout = layer.dropout})](Var x) {
                return attention(x, causal);
            };
        case LayerKind::relu: return [](Var x) { return relu(x); };
        case LayerKind::leaky_relu: return [slope = layer.factor](Var x) { return leaky_relu(x, slope); };
        case LayerKind::gelu: return [](Var x) { return gelu(x); };
        case LayerKind::silu: return [](Var x) { return silu(x); };
        case LayerKind::sigmoid: return [](Var x) { return sigmoid(x); };
        case LayerKind::tanh: return [](Var x) { return tanh(x); };
        case LayerKind::dropout: return [rate = layer.factor](Var x) { return dropout(x, rate); };
        case LayerKind::pool: return [window = layer.size](Var x) { return max_pool2d(x, window); };
        case LayerKind::average_pool: return [window = layer.size](Var x) { return avg_pool2d(x, window); };
        case LayerKind::global_average: return [](Var x) { return in_rows(avg_pool2d(x, x.dim(2))); };
        case LayerKind::scale: return [factor = layer.factor](Var x) { return scaled(x, factor); };
        case LayerKind::tokens:
            return [rows = layer.size](Var x) {
                return reshape(x, {x.dim(0), rows, x.value().size() / x.dim(0) / rows});
            };
        case LayerKind::flatten: return in_rows;
        case LayerKind::embedding: return embedding_step(Embedding(model, layer.name, layer.words, layer.size));
        case LayerKind::places: return places_step(Embedding(model, layer.name, in[0], in[1]));
        case LayerKind::lstm: return over_time(Lstm(model, layer.name, in.back(), layer.size));
        case LayerKind::gru: return over_time(Gru(model, layer.name, in.back(), layer.size));
        default: throw std::invalid_argument(fmt::format("layer \"{}\" is a group", layer.name));
    }
}

Step step_of(Model& model, const Layer& layer, const Shape& in, Index classes) {
    switch (layer.kind) {
        case LayerKind::cross_attention:
            return [attention = CrossAttention(model, layer.name, in.back())](Var x, const Net::Memory* memory) {
                if (memory == nullptr) throw std::invalid_argument("cross attention is for decoders alone");
                return attention(x, memory->states, memory->penalty);
            };
        case LayerKind::experts: return experts_step(model, layer, in, classes);
        case LayerKind::encoder_decoder: return encoder_decoder_step(model, layer, in, classes);
        case LayerKind::sequence:
        case LayerKind::residual:
        case LayerKind::sum:
        case LayerKind::product:
        case LayerKind::branches: return group_step(model, layer, in, classes);
        default: return [plain = plain_step(model, layer, in, classes)](Var x, const Net::Memory*) { return plain(x); };
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

Var Net::until(Var x, std::size_t count, const Memory* memory) const {
    for (std::size_t i = 0; i < count; ++i) x = steps_[i](x, memory);
    return x;
}

}  // namespace ulp
