// The error of long dot products through matrix units: by the accumulator's format, by the generation, and with FP8.
#pragma once

#include "experiments/shared/matrix_units.hpp"

namespace ulp {

/// Adds the claims and the figures "accumulators" and "fp8" to the result. Settings: "longest_k", "promote_every".
void product_errors(const RunContext& context, const std::vector<MatrixUnit>& units, Result& result);

}  // namespace ulp
