// A U-Net of partial convolutions (Liu et al., "Image inpainting for irregular holes using partial convolutions",
// 2018): windows look at what is there only, their sums grow by what is missing, and holes shrink from layer to layer.
#pragma once

#include <string>
#include <vector>

#include "engine/layers/layers.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// Channels with holes, the same in every image of a batch. Where nothing is there the channels are 0.
struct Holed {
    Var x;         // (images, channels, height, width)
    Matrix there;  // (height, width): the share of the channels that are there
};

/// What windows of 3 x 3 with a border of holes see: by how much their sums must grow to stand for nine pixels (0 where
/// nothing is there), and whether anything is there (1 or 0).
struct Windows {
    Matrix growth, there;
};
Windows windows_of(const Matrix& there, Index stride);

/// A convolution of 3 x 3 without a bias, made up for holes; with batch normalisation and relu, unless it is the last.
struct PartialConv {
    std::string name;
    Index stride;
    Parameter* weight;            // (out, in, 3, 3)
    std::vector<BatchNorm> norm;  // one, or none

    PartialConv(Model& model, const std::string& layer_name, Index in, Index out, Index step, bool last = false);
    Holed operator()(const Holed& in) const;
};

/// Images whose holes are filled as a skin over their borders would lie (each pixel the mean of its neighbours), up to
/// 40 rounds of over-relaxation. Each sum is fp32's, so the numbers are the same everywhere.
Tensor from_borders(const Tensor& images, const Matrix& there);

/// Three layers down, each halving the sides, and three up, each beside what was there on the way down. Each colour is
/// an image of its own, and what the net says is added to what its holes' borders tell (from_borders): the last layer's
/// weights start at 0, so that a short training need not learn first what the borders tell.
struct InpaintingNet {
    std::vector<PartialConv> down, up;  // up: from the innermost
    std::vector<ConvTranspose2d> grow;

    InpaintingNet(Model& model, Index channels);
    /// images (count, 3, side, side), 0 or anything in the holes -> the same with all pixels made up.
    Var operator()(Var images, const Matrix& there) const;
    /// What the first layer makes of them: (3 * count, channels, side / 2, side / 2).
    [[nodiscard]] Var features(Var images, const Matrix& there) const;
};

/// Images times a mask of (height, width).
Var masked(Var images, const Matrix& mask);

}  // namespace ulp
