// What the definitions of softfloat/matrix_units hold: the limits of a unit that no row of the table describes.
#pragma once

#include <string>

#include "softfloat/matrix_units/units.hpp"

namespace ulp {

/// The limit that a model breaks, as a sentence that names the fields of its file; empty if it breaks none.
std::string limit_of(const UnitModel& model);

}  // namespace ulp
