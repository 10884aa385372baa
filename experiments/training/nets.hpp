// The nets that the experiments train: small versions of the sources' systems.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// A net over a batch of images (images x features) that gives logits.
using ImageNet = std::function<Var(Var)>;

/// What images look like.
struct ImageShape {
    Index channels;
    Index side;
    Index classes;
};
inline ImageShape shape_of(const Dataset& data) { return {data.channels, data.height, data.classes}; }

/// Two 3 x 3 convolutions of `first` and `second` channels, each with relu and a 2 x 2 pool, and a dense layer: the
/// sources' digit net with fewer channels.
struct DigitCnn {
    ImageShape images;
    Conv2d conv1;
    Conv2d conv2;
    Linear fc1;

    DigitCnn(Model& model, const ImageShape& shape, Index first, Index second);
    Var operator()(Var x) const;
};

/// Convolution, batch normalisation, relu.
struct ConvUnit {
    Conv2d conv;
    BatchNorm norm;

    ConvUnit(Model& model, const std::string& name, Index in, Index out, Index kernel, Index stride = 1);
    /// `activate`: with the relu.
    Var operator()(Var x, bool activate = true) const;
};

/// plain: four units; vgg: pairs of units between pools; inception: 1 x 1, 3 x 3 and pooled branches side by side;
/// residual: units with a way around. All on batch normalisation, about 10,000 parameters at width 8.
const std::vector<std::string>& classifier_names();
/// Throws std::invalid_argument for a name that is none.
ImageNet make_classifier(std::string_view name, Model& model, const ImageShape& shape, Index width);

/// A block of an encoder or decoder (Vaswani et al., 2017): attention and a feed-forward layer with relu, each with a
/// way around and a normalisation.
struct TransformerBlock {
    MultiHeadAttention attention;
    LayerNorm norm1;
    Linear wide;
    Linear narrow;
    LayerNorm norm2;

    TransformerBlock(Model& model, const std::string& name, Index width, Index heads);
    /// `penalty` as in MultiHeadAttention.
    Var operator()(Var x, bool causal, const std::optional<Var>& penalty = std::nullopt) const;
};

/// Attention over another sequence: queries from x (batch, time, width), keys and values from `memory`.
struct CrossAttention {
    Linear query;
    Linear key;
    Linear value;
    Linear out;

    CrossAttention(Model& model, const std::string& name, Index width);
    /// `penalty` (batch, 1 or time, source): added to the scores; -10000 where the source is padding.
    Var operator()(Var x, Var memory, Var penalty) const;
};

/// Two 3 x 3 convolutions, each with a batch normalisation if `normalised`, and with relu.
struct DoubleConv {
    Conv2d first, second;
    std::vector<BatchNorm> norms;  // two, or none

    DoubleConv(Model& model, const std::string& name, Index in, Index out, bool normalised);
    Var operator()(Var x) const;
};

/// A U-Net of three levels (Ronneberger et al., 2015) that says some numbers of each pixel: convolutions on the way
/// down between pools, and on the way up beside what was there on the way down.
struct UNet {
    DoubleConv down1, down2, bottom, up2, up1;
    ConvTranspose2d rise2, rise1;
    Conv2d head;

    UNet(Model& model, Index in, Index width, Index out, bool normalised = false);
    /// x (images, in, h, w), h and w multiples of 4 -> (images, out, h, w).
    Var operator()(Var x) const;
};

/// Images of a data set on the tape as (count, channels, height, width), the pixels from -range to range.
Var centred_on(Tape& tape, const Dataset& data, const std::vector<Index>& which, float range);
/// A batch of images on the tape as (images, channels, side, side).
Var planes(Var images, const ImageShape& shape);
/// (images, channels, h, w) -> (images, channels): the mean over the pixels of square images.
Var global_average(Var x);

/// The parameters of a model whose names start with `prefix`, counted.
Index count_parameters(const Model& model, std::string_view prefix = "");

}  // namespace ulp
