// Bounds from operands for units whose terms are not looked at one by one: each instruction's a-priori bound.
#pragma once

#include <cstdint>
#include <span>

#include "softfloat/matrix_units/bound_operands.hpp"

namespace ulp {

/// D - s is the sum of what each instruction adds to it, for its operands and the c that the unit gave it.
ErrorInterval running_interval_of_instructions(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                                               std::span<const std::uint32_t> b, std::uint32_t c);

/// The same for the largest c that magnitudes allow.
double magnitudes_bound_of_instructions(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                                        std::span<const std::uint32_t> b, std::uint32_t c);

}  // namespace ulp
