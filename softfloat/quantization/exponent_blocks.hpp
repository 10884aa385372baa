// Blocks of numbers of one line whose scales are powers of two by the exponent of their largest magnitude (OCP MX),
// quantised many at a time: a second definition of what quantize.cpp does block by block.
#pragma once

#include "softfloat/quantization/quantize.hpp"
#include "softfloat/quantization/scale_of_block.hpp"

namespace ulp {

/// Whether the row's blocks are such, and its elements number * enc to nearest even.
bool has_exponent_blocks(const Quantization& how);

/// From numbers to scales and elements, in place; the numbers lie line by line or by columns.
void make_exponent_blocks(Quantized& q, const ScaleOfBlock& rule);

}  // namespace ulp
