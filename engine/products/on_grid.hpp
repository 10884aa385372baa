// A quick look whether numbers lie on a format's grid, before a slow one that says where they do not.
#pragma once

#include "engine/products/matmul.hpp"

namespace ulp {

/// False where all numbers are the format's (or NaN): vectorised, on all threads. True where one may not be.
bool maybe_off_grid(const MatrixView& matrix, const FloatFormat& format);

}  // namespace ulp
