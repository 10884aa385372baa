// The functions that steps.hpp takes, from softfloat/functions: correctly rounded, so one definition, the same bits
// everywhere.
#pragma once

#include "engine/rounding/rounder.hpp"
#include "softfloat/functions/list.hpp"

namespace ulp::step {

/// Where the result of a step goes: the format and its options, and the fast rounding to it.
struct Target {
    explicit Target(const FloatFormat& to, const Context& how = {}) : format(to), options(how), round(to, how) {}
    FloatFormat format;
    Context options;
    Rounder<double> round;
};

/// Three ways for each function: in fp32, correctly rounded; in a narrower format (or one that flushes), correctly
/// rounded from an operand on the format's grid; in fp64 within 2^-40 of the result, for gradient checks (operands in
/// fp32's range).
#define ULPLAB_FUNCTION(name, Function)        \
    float name(float x);                       \
    float name(const Target& target, float x); \
    double name(double x);
ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION

}  // namespace ulp::step
