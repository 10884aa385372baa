// Gram matrices of feature maps, by which style losses compare textures (Gatys et al., "A neural algorithm of artistic
// style", 2015), and how their largest entry grows with the picture.
#pragma once

#include "engine/data/dataset.hpp"
#include "engine/training/trainer.hpp"
#include "experiments/shared/matrix_units.hpp"

namespace ulp {

// Features by which a perceptual loss compares pictures (Johnson et al., 2016; Liu et al., 2018, take those of VGG16):
// those of a small net that learnt to tell which way a texture's waves run.

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

/// Maps of half the sides that tell style: a convolution of `kernel` (maps, 3, 3, 3) stands for VGG16's first layer.
/// images (count, 3, side, side), taken times `range` -> (count, maps, pixels).
Var style_maps_of(Var images, const Tensor& kernel, double range);

/// When a Gram matrix is divided by the number of pixels: both its factors, by the root, before they are multiplied, or
/// the product.
enum class Division : std::uint8_t { before_product, after_product };
/// maps (count, maps, pixels) -> (count, maps, maps): products of every two, averaged over the pixels.
Var gram_of(Var maps, Division division);

/// Maps of many pictures, (count, maps, ...) each: the numbers of the one whose squares add up to most, as fp16 holds
/// them, as if the pictures lay side by side. Its square is the Gram matrix's largest entry.
std::vector<float> largest_map(const std::vector<Tensor>& pictures);

/// A map times itself: an entry of a Gram matrix before it is divided.
struct GramEntry {
    std::span<const float> map;  // numbers of fp16
    const MatmulBackend* unit;
    FloatFormat stored;

    /// The sum over the first pixels: exact as fp64 allows; by the unit; rounded to the storage format.
    [[nodiscard]] double exact(std::size_t pixels) const;
    [[nodiscard]] float summed(std::size_t pixels, const ProductTypes& types = fp16_to_fp32) const;
    [[nodiscard]] float in_storage(std::size_t pixels) const;
    /// The least number of pixels at which `large` holds, if it then holds for all larger ones; one more than there are
    /// if for none.
    [[nodiscard]] std::size_t first(const std::function<bool(std::size_t)>& large) const;
    [[nodiscard]] std::size_t first_infinite() const;
};

// The part of the experiment on inpainting that is about sums in Gram matrices: where they leave fp16.

/// Adds its claims and its figure. The largest map of the trained net's first layer, and of the style's features made
/// from bytes (largest_map).
void gram_overflow(const RunContext& context, std::span<const float> trained_map, std::span<const float> byte_map,
                   Result& result);

}  // namespace ulp
