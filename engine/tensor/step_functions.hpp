// The functions that steps.hpp takes, from softfloat/functions: correctly rounded, so one definition, the same bits
// everywhere.
#pragma once

#include <span>

#include "engine/tensor/rounder.hpp"
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
/// fp32's range). Those in fp32 and in fp64 also on arrays of the same size, element by element.
#define ULPLAB_FUNCTION(name, Function)                        \
    float name(float x);                                       \
    float name(const Target& target, float x);                 \
    double name(double x);                                     \
    void name(std::span<const float> x, std::span<float> out); \
    void name(std::span<const double> x, std::span<double> out);
ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION

}  // namespace ulp::step
