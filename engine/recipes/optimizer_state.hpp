// How an optimizer keeps its tensors from step to step, and how a new weight gets onto the grid of its format.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/tensor/matrix.hpp"
#include "softfloat/format.hpp"

namespace ulp {

/// How a new weight gets onto its format's grid where that is narrower than the update's steps.
enum class UpdateRounding : std::uint8_t {
    nearest,
    stochastic,  // up with the probability of the dropped fraction, by counter-based random numbers
    kahan        // to nearest, and what was lost is kept and added to the next update (one more number a weight)
};

/// The format of a tensor between steps. `scaled`: the numbers are multiplied by a power of two before they are
/// rounded, the largest with which the tensor's largest magnitude is at most the format's (MS-AMP's rule,
/// common/tensor/meta.py, with margin 0).
struct StateFormat {
    FloatFormat format;
    bool scaled = false;

    /// What so many numbers take.
    [[nodiscard]] std::int64_t bytes(Index count) const {
        return count * format.storage_bits() / 8 + (scaled ? static_cast<std::int64_t>(sizeof(float)) : 0);
    }
};

/// The tensors that a training keeps beside the weights. Where nothing stands, they are in the update's format. Steps
/// are computed in the update's format; the weight moves by the moments as computed, and then they are rounded (so
/// MS-AMP, optim/adamw.cu).
struct OptimizerState {
    std::optional<StateFormat> weight{};    // what the model sees, made from the masters after each update
    std::optional<StateFormat> master{};    // the optimizer's copies of the weights
    std::optional<StateFormat> gradient{};  // sums over micro-batches, and what the optimizer reads
    std::optional<StateFormat> m{};         // means of gradients, momentum
    std::optional<StateFormat> v{};         // means and sums of squares, Sophia's curvature
    /// Weight, master and gradient are kept so for the weights of linear layers alone (MS-AMP's LinearReplacer,
    /// nn/linear.py, makes scaled tensors of these); other parameters have them in the recipe's formats.
    bool linear_weights_only = false;
};

/// The power of two by which MS-AMP multiplies before it rounds: 2^floor(log2(largest of the format / amax)), at most
/// the one with which every number of the format is still one of fp32's when it is divided again. 1 where amax is 0,
/// infinite or NaN (MS-AMP keeps the scale of the step before).
float power_of_two_scale(const FloatFormat& format, float amax);

}  // namespace ulp
