// The arithmetic of arrays.
#pragma once

#include "softfloat/functions/list.hpp"

namespace ulp::array {

/// Unscoped, for they index tables of kernels.
enum Operation : int { op_add, op_subtract, op_multiply, op_divide, op_sqrt, op_fma, operations };

// The names of the functions of one operand, for code that chooses one at run time.

#define ULPLAB_FUNCTION(name, Definition) name,
enum class Function { ULPLAB_FUNCTIONS(ULPLAB_FUNCTION) };
#undef ULPLAB_FUNCTION
#define ULPLAB_FUNCTION(name, Definition) +1
inline constexpr int functions = ULPLAB_FUNCTIONS(ULPLAB_FUNCTION);
#undef ULPLAB_FUNCTION

}  // namespace ulp::array
