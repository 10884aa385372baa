// Discovery where products are too close in size to mask one another (FP6 and FP4 without scales): the addend c, which
// has a wider range, is the probe.
#pragma once

#include <optional>

#include "softfloat/lab/dot_question.hpp"

namespace ulp::discovery {

/// Everything but special values. With f fraction bits kept of a sum, and F at least f + 2:
///
///     output     c = 2^f plus one product of 1 is kept, c = 2^(f+1) plus 1 is not
///     groups     c = 2^(f+1) plus 1 plus 1: the ones survive exactly where they meet before a rounding
///     order      c = 2^(f+1) plus 1 minus 1 gives c - 1 if the 1 comes first, and was lost
///     F          beside products that cancel, the least c that survives
///     products   beside c = 2^(F+p), k products of 2^p survive, beside 2^(F+p+1) they do not
///
/// Where products of all sizes cut c alike, they are added before terms are aligned (FP4 with block scales); then
///
///     exact      c = 2^(F+p+1) minus 2^p minus 2^p is not c where the two are added before they are cut
///
/// Where c's format ends before 2^(F+p+1) (fp16), no product is ever cut, and how it would be is no question.
Discovery discover_narrow(const DotUnit& unit);

/// The exponent of the least power of two that survives as c beside a product at leaf i and its opposite at leaf j;
/// nothing where every c that the accumulator has survives.
std::optional<int> least_addend(const DotUnit& unit, int i, int j, const Number& product);

}  // namespace ulp::discovery
