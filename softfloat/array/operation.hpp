// The arithmetic of arrays.
#pragma once

namespace ulp::array {

/// Unscoped, for they index tables of kernels.
enum Operation : int { op_add, op_subtract, op_multiply, op_divide, op_sqrt, op_fma, operations };

}  // namespace ulp::array
