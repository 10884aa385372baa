// Blocks of numbers of one line whose scales are powers of two by the exponent of their largest magnitude (OCP MX),
// quantised many at a time: a second definition of what quantize.cpp does block by block.
#pragma once

#include "softfloat/quantization/quantize.hpp"
#include "softfloat/quantization/scale_of_block.hpp"

namespace ulp {

/// Whether the row's blocks are such, and its elements number * enc to nearest even.
bool has_exponent_blocks(const Quantization& how);

/// Scales and elements of the numbers. These lie line by line, each line without gaps, or, where the elements do, by
/// columns without gaps.
void make_exponent_blocks(const MatrixView& lines, const ScaleOfBlock& rule, Quantized& q);

}  // namespace ulp
