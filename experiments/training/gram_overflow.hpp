// The part of the experiment on inpainting that is about sums in Gram matrices: where they leave fp16.
#pragma once

#include <span>

#include "experiments/framework/experiment.hpp"

namespace ulp {

/// Adds its claims and its figure. The largest map of the trained net's first layer, and of the style's features made
/// from bytes (largest_map).
void gram_overflow(const RunContext& context, std::span<const float> trained_map, std::span<const float> byte_map,
                   Result& result);

}  // namespace ulp
