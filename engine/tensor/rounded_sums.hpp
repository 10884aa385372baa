// Sums of tensors, element by element, in a format.
#pragma once

#include <span>

#include "engine/tensor/real.hpp"
#include "engine/tensor/rounder.hpp"

namespace ulp::inline ULPLAB_MODE {

/// to[i] = to[i] + from[i], each sum a step in the format.
void add_rounded(std::span<const Real> from, const ComputeFormat& format, Real* to);

}  // namespace ulp::inline ULPLAB_MODE
