// The nets that tell images apart, as data: one table by name, and nets on digits of 14 x 14 pixels that are each there
// for a property that real nets have at their size, small enough to train in a tenth of a second.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/nets/net.hpp"

namespace ulp {

/// A net over a batch of images (images x features) that gives logits.
using ImageNet = std::function<Var(Var)>;
/// Adds a net's parameters to the model.
using NetBuilder = std::function<ImageNet(Model&)>;

/// What an image looks like: (channels, height, width).
inline Shape shape_of(const Dataset& data) { return {data.channels, data.height, data.width}; }

/// A net by name, at any width.
struct NamedNet {
    std::string_view name;
    std::string_view what;
    Layers (*layers)(Index width);
    Index width;                       // the usual one
    std::string_view task = "images";  // what it learns (net_tasks.hpp)
};
/// mlp, cnn; plain, vgg, inception and residual: all four on batch normalisation, about 10,000 parameters at width 8;
/// resnet20; lstm, transformer, gpt, seq2seq and encoder_decoder: on sequences.
std::span<const NamedNet> named_nets();
/// Throws std::invalid_argument that lists the names.
const NamedNet& net_by_name(std::string_view name);

inline constexpr Index ascii_tokens = 128;
inline constexpr Index translation_tokens = 19;  // 16 letters, padding, start and end

/// Linear layers of these widths and one for the classes, "fc1", "fc2" ..., with relu between them.
Layers dense_net(const std::vector<Index>& hidden);
/// Two 3 x 3 convolutions of `first` and `second` channels, each with relu and a 2 x 2 pool, and a linear layer: the
/// sources' digit net with fewer channels.
Layers digit_cnn(Index first, Index second, const std::string& last = "fc1");

/// One hidden layer of 32 on 196 pixels. All weights start as +1 or -1 and constants bring their sums to size (the
/// equalised learning rate of Karras et al., "Progressive growing of GANs", 2018): every weight is large beside its
/// updates. Units start in pairs that cancel, so the first logits are 0 (Chizat et al., "On lazy training", 2019).
NetBuilder sign_net();

/// One hidden layer of 32 whose outputs are too large by 2^exponent, which is divided out only after the next layer:
/// the gradients between are too small by as much, those before and after are not.
Layers unbalanced_net(int exponent);

/// One block of a Transformer over the image as 7 tokens, width 16, 2 heads. Pixels are not brought to [0, 1] but times
/// `pixel_scale`; layer norm comes first. What the last layer sees is divided by 8, so that its gradients stay below 1.
Layers image_transformer(double pixel_scale);

// A language model in the shape of GPT-2 (Radford et al., 2019): blocks that normalise first, gelu, learned places.
// What it weighs and what a step computes follow from the shape.

struct LanguageNet {
    Index tokens = ascii_tokens;
    Index length = 64;  // tokens of an example, each at a learned place
    Index width = 128;
    Index blocks = 5;
    Index heads = 4;

    /// "words", "places", "block1.norm1" ..., "norm", "out". The last layer has weights and biases of its own.
    [[nodiscard]] Layers layers() const;
    [[nodiscard]] Index parameters() const { return parameters_of(layers(), {length}, tokens); }
    /// Multiply-adds of a training step's matrix products on `batch` examples: once forward, twice backward. Attention
    /// computes whole squares, what the mask hides included.
    [[nodiscard]] std::int64_t multiply_adds(Index batch) const;
};

}  // namespace ulp
