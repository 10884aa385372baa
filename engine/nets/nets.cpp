#include "engine/nets/nets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ulp {

using namespace layers;

Layers dense_net(const std::vector<Index>& hidden) {
    Layers net;
    for (const Index width : hidden) {
        net.push_back(linear(fmt::format("fc{}", net.size() / 2 + 1), width));
        net.push_back(relu());
    }
    net.push_back(linear(fmt::format("fc{}", hidden.size() + 1)));
    return net;
}

Layers digit_cnn(Index first, Index second, const std::string& last) {
    return {conv("conv1", first, 3), relu(), pool(2), conv("conv2", second, 3), relu(), pool(2), linear(last)};
}

namespace {

Layers mlp(Index width) { return dense_net({width}); }
Layers cnn(Index width) { return digit_cnn(width, 2 * width, "dense"); }

Layers plain(Index width) {
    return {conv_unit("unit1", width, 3),
            conv_unit("unit2", width, 3, 2),
            conv_unit("unit3", 2 * width, 3, 2),
            conv_unit("unit4", 2 * width, 3),
            global_average(),
            linear("fc")};
}

Layers vgg(Index width) {
    return {conv_unit("block1.1", width, 3),
            conv_unit("block1.2", width, 3),
            pool(2),
            conv_unit("block2.1", 2 * width, 3),
            conv_unit("block2.2", 2 * width, 3),
            pool(2),
            linear("fc1", 4 * width),
            relu(),
            linear("fc2")};
}

/// A convolution of 1 x 1, one of 1 x 1 and one of 3 x 3 behind it, and one of 3 x 3.
Layer inception_block(const std::string& name, Index width) {
    return branches({{conv_unit(name + ".one", width / 2, 1)},
                     {conv_unit(name + ".before", width / 2, 1), conv_unit(name + ".three", width, 3)},
                     {conv_unit(name + ".direct", width / 2, 3)}});
}

Layers inception(Index width) {
    return {conv_unit("stem", width, 3, 2),
            inception_block("inception1", width),
            pool(2),
            inception_block("inception2", width),
            global_average(),
            linear("fc")};
}

/// Two units with a way around.
Layer residual_block(const std::string& name, Index width) {
    return residual({conv_unit(name + ".1", width, 3), conv_unit(name + ".2", width, 3, 1, false)});
}

Layers residual_net(Index width) {
    return {conv_unit("stem", width, 3),
            pool(2),
            residual_block("block1", width),
            relu(),
            conv_unit("down", 2 * width, 3, 2),
            residual_block("block2", 2 * width),
            relu(),
            global_average(),
            linear("fc")};
}

/// He et al., "Deep residual learning for image recognition" (2016), section 4.2: three stages of three blocks, each
/// stage with half the pixels and twice the channels, where the way around is a convolution of 1 x 1.
Layers resnet20(Index width) {
    Layers net = {conv_unit("stem", width, 3)};
    for (int stage = 0; stage < 3; ++stage) {
        for (int block = 0; block < 3; ++block) {
            const std::string name = fmt::format("stage{}.block{}", stage + 1, block + 1);
            const Index channels = width << stage;
            const Index stride = stage > 0 && block == 0 ? 2 : 1;
            const Layers units = {conv_unit(name + ".1", channels, 3, stride),
                                  conv_unit(name + ".2", channels, 3, 1, false)};
            net.push_back(stride == 1 ? residual(units)
                                      : Layer{.kind = LayerKind::sum,
                                              .inside = {units, {conv_unit(name + ".around", channels, 1, 2, false)}}});
            net.push_back(relu());
        }
    }
    net.push_back(global_average());
    net.push_back(linear("fc"));
    return net;
}

/// A block as TransformerBlock (blocks.hpp) has it, which looks at what came before alone.
void add_block(Layers& net, const std::string& name, Index width) {
    for (Layer& layer : Layers{residual({attention(name + ".attention", 2, true)}), layer_norm(name + ".norm1"),
                               residual({linear(name + ".wide", 2 * width), relu(), linear(name + ".narrow", width)}),
                               layer_norm(name + ".norm2")}) {
        net.push_back(std::move(layer));
    }
}

Layers transformer_over(Index words, Index width) {
    Layers net = {embedding("words", words, width), places("places")};
    add_block(net, "block1", width);
    add_block(net, "block2", width);
    net.push_back(linear("out"));
    return net;
}
Layers text_transformer(Index width) { return transformer_over(ascii_tokens, width); }
Layers translating_transformer(Index width) { return transformer_over(translation_tokens, width); }

/// A block of an encoder, and one of a decoder that attends to it.
Layers translating_pair(Index width) {
    constexpr Index source = 10;  // of the 21 tokens of an example
    const auto words = [&](const std::string& of) {
        return Layers{embedding(of + ".words", translation_tokens, width), places(of + ".places")};
    };
    const auto add_wide = [&](Layers& net, const std::string& of) {
        net.push_back(residual({linear(of + ".wide", 2 * width), relu(), linear(of + ".narrow", width)}));
        net.push_back(layer_norm(of + ".norm2"));
    };
    Layers encoder = words("encoder");
    encoder.push_back(residual({attention("encoder.attention", 2)}));
    encoder.push_back(layer_norm("encoder.norm1"));
    add_wide(encoder, "encoder");
    Layers decoder = words("decoder");
    decoder.push_back(residual({attention("decoder.attention", 2, true)}));
    decoder.push_back(layer_norm("decoder.norm1"));
    decoder.push_back(residual({cross_attention("decoder.memory")}));
    decoder.push_back(layer_norm("decoder.norm3"));
    add_wide(decoder, "decoder");
    decoder.push_back(linear("out"));
    return {encoder_decoder(source, std::move(encoder), std::move(decoder))};
}

Layers gpt(Index width) { return LanguageNet{.width = width}.layers(); }

Layers text_lstm(Index width) {
    return {embedding("words", ascii_tokens, width / 2), lstm("lstm", width), linear("out")};
}

constexpr NamedNet table[] = {
    {"mlp", "two linear layers", mlp, 128},
    {"cnn", "two convolutions, each with a pool, and a linear layer", cnn, 8},
    {"plain", "four convolutions", plain, 8},
    {"vgg", "pairs of convolutions between pools", vgg, 8},
    {"inception", "convolutions of 1 x 1 and 3 x 3 side by side", inception, 8},
    {"residual", "pairs of convolutions with a way around", residual_net, 8},
    {"resnet20", "20 layers with ways around, for small images", resnet20, 16},
    {"lstm", "the next character of a text, by an LSTM", text_lstm, 48, "text"},
    {"transformer", "the next character of a text, by two blocks of causal attention", text_transformer, 32, "text"},
    {"gpt", "the next character of a text, by five blocks that normalise first, as GPT-2's", gpt, 128, "text"},
    {"seq2seq", "a sequence and then its translation, by two blocks of causal attention", translating_transformer, 32,
     "translation"},
    {"encoder_decoder", "a sequence's translation, by an encoder block and a decoder block that attends to it",
     translating_pair, 32, "translation"},
};

}  // namespace

std::span<const NamedNet> named_nets() { return table; }

const NamedNet& net_by_name(std::string_view name) {
    const auto* found = std::ranges::find(table, name, &NamedNet::name);
    if (found != std::end(table)) return *found;
    std::string names;
    for (const NamedNet& net : table) names += fmt::format("{}{}", names.empty() ? "" : ", ", net.name);
    throw std::invalid_argument(fmt::format("no net \"{}\"; there are {}", name, names));
}

NetBuilder sign_net() {
    return [](Model& model) -> ImageNet {
        const Layers signs = {linear("fc1", 32), scale(0.5), relu(), linear("fc2"), scale(4)};
        Net net(model, signs, {1, 14, 14}, 10);
        const auto start = [&model](const char* name, const auto& value) {
            for (Tensor* tensor : {&model[name].value, &model[name].master}) {
                const std::vector<float> drawn(tensor->values().begin(), tensor->values().end());
                for (std::size_t i = 0; i < drawn.size(); ++i) (*tensor)[static_cast<Index>(i)] = value(drawn, i);
            }
        };
        const auto sign = [](float w) { return w < 0 ? -1.0F : 1.0F; };
        // Unit 16 + i starts as unit i with the opposite outputs.
        start("fc1.weight", [&](const auto& w, std::size_t i) { return sign(w[i % (16 * 196)]); });
        start("fc2.weight", [&](const auto& w, std::size_t i) { return i % 32 < 16 ? sign(w[i]) : -sign(w[i - 16]); });
        start("fc1.bias", [](const auto&, std::size_t) { return 0.0F; });
        start("fc2.bias", [](const auto&, std::size_t) { return 0.0F; });
        return net;
    };
}

Layers unbalanced_net(int exponent) {
    const double large = std::ldexp(1.0, exponent);
    return {linear("fc1", 32), relu(), scale(large), linear("fc2"), scale(1 / large)};
}

Layers image_transformer(double pixel_scale) {
    return {scale(pixel_scale),
            tokens(7),
            layer_norm("norm"),
            linear("embed", 16),
            residual({attention("attention", 2)}),
            residual({linear("wide", 32), gelu(), linear("narrow", 16)}),
            scale(0.125),
            flatten(),
            linear("out")};
}

using namespace layers;

Layers LanguageNet::layers() const {
    Layers net = {embedding("words", tokens, width), places("places")};
    for (Index i = 1; i <= blocks; ++i) {
        const std::string name = fmt::format("block{}", i);
        net.push_back(residual({layer_norm(name + ".norm1"), attention(name + ".attention", heads, true)}));
        net.push_back(residual(
            {layer_norm(name + ".norm2"), linear(name + ".wide", 4 * width), gelu(), linear(name + ".narrow", width)}));
    }
    net.push_back(layer_norm("norm"));
    net.push_back(linear("out"));
    return net;
}

std::int64_t LanguageNet::multiply_adds(Index batch) const {
    const std::int64_t matrices = blocks * 12 * width * width + width * tokens;
    const std::int64_t attention = blocks * 2 * length * width;  // per token: scores and mix
    return 3 * batch * length * (matrices + attention);
}

}  // namespace ulp
