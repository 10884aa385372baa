// The names of the rounding modes, for programs and messages.
#pragma once

#include <string_view>

#include "softfloat/context.hpp"

namespace ulp {

/// "nearest_even", "toward_zero" and so on: the enumerator's name.
std::string_view name_of(Rounding rounding);

/// The mode of that name. TestFloat's names stand for the same modes: near_even, near_maxMag, minMag, min, max, odd,
/// each also with the r that its command line puts before them. Throws std::invalid_argument that lists the names.
Rounding rounding_by_name(std::string_view name);

}  // namespace ulp
