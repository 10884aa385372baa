// Two nets that grow while they train against each other (Karras et al., "Progressive growing of GANs for improved
// quality, stability, and variation", 2018): one makes grey faces of noise, the other tells them from real ones.
#pragma once

#include <vector>

#include "engine/layers/layers.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// 8, 16, 32 pixels a side.
inline constexpr std::size_t growth_stages = 3;
constexpr Index face_side(std::size_t stage) { return Index{8} << stage; }

/// A dense layer makes 4 x 4 pixels, and each block doubles the side: it repeats pixels, for a transposed convolution
/// leaves chequers, and adds what a convolution makes of them. All stages share the way to grey. So a picture that
/// grows begins as the picture that it was.
struct FaceGenerator {
    static constexpr Index noise = 16;  // numbers a face

    FaceGenerator(Model& model, Index channels);
    /// noise (count, 16) -> (count, 1, side, side), from -1 to 1.
    Var operator()(Tape& tape, const Matrix& from, std::size_t stage) const;

    Linear start;
    std::vector<Conv2d> up;
    Conv2d to_grey;
};

/// The same backwards.
struct FaceCritic {
    FaceCritic(Model& model, Index channels);
    /// faces (count, 1, side, side) -> (count, 1), high for real ones.
    Var operator()(Var x, std::size_t stage) const;

    Conv2d from_grey;
    std::vector<Conv2d> down;
    Linear score;
};

}  // namespace ulp
