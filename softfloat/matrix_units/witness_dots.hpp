// Dot products on which hypotheses about a unit can give different results.
#pragma once

#include <vector>

#include "softfloat/matrix_units/alternatives.hpp"

namespace ulp {

/// Dots of one instruction whose few operands other than zero are mostly the ends of the formats' ranges, with the
/// model's results. The same dots every time. For floating-point and integer models.
std::vector<RecordedDot> witness_dots(const UnitModel& model);

}  // namespace ulp
