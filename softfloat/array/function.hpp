// The names of the functions of one operand, for code that chooses one at run time.
#pragma once

#include "softfloat/functions/list.hpp"

namespace ulp::array {

#define ULPLAB_FUNCTION(name, Definition) name,
enum class Function { ULPLAB_FUNCTIONS(ULPLAB_FUNCTION) };
#undef ULPLAB_FUNCTION
#define ULPLAB_FUNCTION(name, Definition) +1
inline constexpr int functions = ULPLAB_FUNCTIONS(ULPLAB_FUNCTION);
#undef ULPLAB_FUNCTION

}  // namespace ulp::array
