// Operands of fp64 for quantize(), whose numbers and scales are fp32's.
#pragma once

#include <span>

#include "softfloat/quantization/quantization.hpp"

namespace ulp {

/// to[i] = the fp32 number that stands for from[i] in an operand that is quantised by this row. It is the nearest one,
/// unless that is another number and has so few bits that it may be an element, the middle between two of them, or the
/// edge of a binade: then it is the next one on from[i]'s side. So an element under a scale that is a power of two, and
/// the scale, are those of the fp64 number, rounded once. (Rounding never passes such a number, and only where it ends
/// on one does the second rounding see another side of it than the first.)
///
/// The spans are of one size. NaNs and infinities stay. Throws std::range_error that names the place of a finite
/// number beyond fp32's largest.
void carry_in_fp32(const Quantization& how, std::span<const double> from, std::span<float> to);

}  // namespace ulp
