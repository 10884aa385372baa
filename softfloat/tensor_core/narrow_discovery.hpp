// Discovery where products are too near each other to mask one another (FP6 and FP4 without scales): c asks.
#pragma once

#include "softfloat/tensor_core/discovery.hpp"

namespace ulp::discovery {

/// Everything but special values. With f fraction bits kept of a sum, and F at least f + 2:
///
///     output     c = 2^f plus one product of 1 is kept, c = 2^(f+1) plus 1 is not
///     groups     c = 2^(f+1) plus 1 plus 1: the ones survive exactly where they meet before a rounding
///     order      c = 2^(f+1) plus 1 minus 1 gives c - 1 if the 1 comes first, and was lost
///     F          beside products that cancel, the least c that survives
///     products   beside c = 2^(F+p), k products of 2^p survive, beside 2^(F+p+1) they do not
///
/// Where c's format ends before 2^(F+p+1) (fp16), no product is ever cut, and how it would be is no question.
Discovery discover_narrow(const DotUnit& unit);

}  // namespace ulp::discovery
