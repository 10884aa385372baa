// Parts of the nets that are no list of layers: blocks of Transformers, and a U-Net.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// A block of an encoder or decoder (Vaswani et al., 2017): attention and a feed-forward layer with relu, each with a
/// way around and a normalisation.
struct TransformerBlock {
    MultiHeadAttention attention;
    LayerNorm norm1;
    Linear wide;
    Linear narrow;
    LayerNorm norm2;

    TransformerBlock(Model& model, const std::string& name, Index width, Index heads, AttentionOptions options = {});
    /// `penalty` as in MultiHeadAttention.
    Var operator()(Var x, bool causal, const std::optional<Var>& penalty = std::nullopt) const;
};

/// 0, 1, ... length - 1 for each of `rows` sequences: the indices of an embedding of places.
std::vector<int> place_numbers(Index rows, Index length);
/// What stands at the first place, which says something of the whole sequence: (batch, time, width) -> (batch, width).
Var first_place_of(Var x);

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
}  // namespace ulp
