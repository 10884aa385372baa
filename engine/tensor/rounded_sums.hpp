// Sums of tensors, element by element, in a format.
#pragma once

#include <span>

#include "engine/tensor/compute_format.hpp"

namespace ulp {

/// to[i] = to[i] + from[i], each sum a step in the format.
void add_rounded(std::span<const float> from, const ComputeFormat& format, float* to);
void add_rounded(std::span<const double> from, const ComputeFormat& format, double* to);

}  // namespace ulp
