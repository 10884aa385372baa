// The processor's floating-point control while kernels compute with it.
#pragma once

#include "softfloat/context.hpp"
#include "softfloat/support/float_environment.hpp"

namespace ulp::array {

/// The processor's rounding for one of its four, nearest even for the others.
constexpr support::ProcessorRounding processor_rounding(Rounding rounding) {
    switch (rounding) {
        case Rounding::down: return support::ProcessorRounding::down;
        case Rounding::up: return support::ProcessorRounding::up;
        case Rounding::toward_zero: return support::ProcessorRounding::toward_zero;
        default: return support::ProcessorRounding::nearest_even;
    }
}

class FloatEnvironment : support::FloatEnvironment {
  public:
    explicit FloatEnvironment(Rounding rounding) : support::FloatEnvironment(processor_rounding(rounding)) {}
};

}  // namespace ulp::array
