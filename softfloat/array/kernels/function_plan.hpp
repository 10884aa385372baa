// The constants of a function kernel for a format and a rounding.
#pragma once

#include <optional>

#include "softfloat/array/kernels/function_kernels.hpp"
#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::array {

/// Nothing for formats whose storage words are not fp32 words (fp32 and tf32 are). Without ends and random
/// numbers.
std::optional<FunctionPlan> function_plan(const FloatFormat& format, Rounding rounding);

}  // namespace ulp::array
#pragma GCC visibility pop
