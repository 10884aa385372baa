// From a format and a context to the constants of plan.hpp.
#pragma once

#include <optional>

#include "softfloat/array/context.hpp"
#include "softfloat/array/kernels/kernel_table.hpp"
#include "softfloat/format.hpp"

namespace ulp::array {

struct Plan {
    RoundingPlan constants;
    KernelRange range;
    Rounding rounding;  // the kernel: not the context's where the format has all of fp32's digits
};

/// Nothing where the kernels cannot do it: formats that reach beyond fp32, without sign or subnormals; flushed outputs
/// of a directed or stochastic rounding. The scalar functions then do.
std::optional<Plan> make_plan(const FloatFormat& format, const ArrayContext& context);

/// Sets the plan's random numbers to those of the elements from `element` on.
void start_random(RoundingPlan& plan, const ArrayContext& context, std::size_t element);

}  // namespace ulp::array
