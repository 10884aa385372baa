// Pictures made by a program: five coloured shapes and five textures on coloured grounds, placed, sized and turned at
// random, with noise. Integer arithmetic and counter-based random numbers only.
#pragma once

#include <vector>

#include "engine/data/dataset.hpp"

namespace ulp {

/// disc, square, triangle, cross, ring; horizontal, vertical and diagonal stripes, checks, dots.
inline constexpr Index shape_classes = 10;

struct ShapeOptions {
    Index count = 2000;
    Index side = 32;  // 16 or 32 as in the experiments; any from 8 up
    std::uint64_t seed = 1;
    int noise = 40;  // amplitude of the noise, of 255
    int lighter =
        0;  // by so much or more a figure is lighter than its ground in each colour; 0: it differs by 90 in one
};

/// A training and a test set from different streams of the same seed. 3 x side x side bytes an image: red, green, blue
/// planes. Image i of a set depends on (seed, i) alone.
/// Throws std::invalid_argument for a side below 8, a negative count, or a noise outside 0..255.
DataSplit generated_shape_split(Index train, Index test, Index side, std::uint64_t seed, int noise = 40);

struct TextureOptions {
    Index count = 2000;
    Index side = 32;
    std::uint64_t seed = 1;
    int noise = 10;   // amplitude, of 255
    int periods = 3;  // of a wave across the image, at most
};
/// A textured image: sums of two waves in three colours. The label, 0 to 3, tells which way the main waves of all
/// colours run. For filling in what is missing.
/// Throws std::invalid_argument as generated_shape_split, and for fewer than one period.
Dataset generated_textures(const TextureOptions& options);

/// Scenes for detectors and segmenters: one shape (of the first five classes) for each image, its box in pixels, and
/// which pixels it covers.
struct Box {
    int left, top, right, bottom;  // right and bottom are the first pixels outside
    bool operator==(const Box&) const = default;
};
struct Scenes {
    Dataset images;                   // the label is the shape's class
    std::vector<Box> boxes;           // one an image
    std::vector<std::uint8_t> inked;  // side x side an image: 1 where the shape is, else 0

    /// Scenes first, first + 1, ... first + count - 1.
    [[nodiscard]] Scenes slice(Index first, Index count) const;
};
/// Throws std::invalid_argument as generated_shape_split, and for a `lighter` outside 0..255.
Scenes generated_scenes(const ShapeOptions& options);

}  // namespace ulp
