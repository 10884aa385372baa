// Features by which a perceptual loss compares pictures (Johnson et al., 2016; Liu et al., 2018, take those of VGG16):
// those of a small net that learnt to tell which way a texture's waves run.
#pragma once

#include "engine/data/dataset.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// A convolution of 3 x 3 without a bias that halves the sides, and relu. Without a bias, as pixels may be taken times
/// any range.
Var texture_maps(Var images, Var kernel);

/// The kernels of the trained net's two layers, each layer scaled so that its maps are as large as the pixels are, in
/// the mean of the squares over textures.
struct TextureFeatures {
    Tensor first;     // (8, 3, 3, 3)
    Tensor second;    // (16, 8, 3, 3)
    double accuracy;  // of the net that they come from, on textures that it has not seen

    /// Mean squared difference of what both layers make of two batches of images (count, 3, side, side); of the
    /// wanted ones nothing is differentiated.
    [[nodiscard]] Var difference(Var images, Var wanted) const;
};

/// Trains the net in fp32, by the textures' labels (generated_textures). `test` also sets the scales.
TextureFeatures trained_texture_features(const Dataset& train, const Dataset& test, std::int64_t steps,
                                         std::uint64_t seed);

}  // namespace ulp
