// The backends that need no special hardware.
#pragma once

#include <vector>

#include "engine/matmul.hpp"

namespace ulp {

/// Each step rounded. d starts from c, or from +0 without one; then for ascending k
///
///     d(i, j) = round(d(i, j) + round(a(i, k) * b(k, j)))
///
/// with both roundings to the accumulator's format, to nearest even, and no fused multiply-add. Takes any types.
std::unique_ptr<MatmulBackend> make_ieee_backend();

/// Eigen's fp32 product, then one rounding to the accumulator's format. Its order of summation depends on the vector
/// width, so it claims no model: for speed, and for study. Takes any types.
std::unique_ptr<MatmulBackend> make_eigen_backend();

std::vector<BackendFamily> built_in_backends();

}  // namespace ulp
