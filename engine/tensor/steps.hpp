// The elementary steps of an operation's inside, each rounded to the format the operation computes in.
//
// with_steps(format, [&](const auto& s) { y = s.add(s.mul(a, b), c); }) runs the same written algorithm in fp32
// (the container's own arithmetic) or with every step rounded to fp16, bf16, ... as the softfloat types would.
//
// s.exp(a, out) and the other functions also take arrays (of the same size; out may be a): the same bits as one by one,
// in fp32 several times as fast.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "engine/tensor/real.hpp"
#include "engine/tensor/rounder.hpp"
#include "softfloat/functions/list.hpp"

// The functions that steps.hpp takes, from softfloat/functions: correctly rounded, so one definition, the same bits
// everywhere.

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

namespace ulp::inline ULPLAB_MODE {

/// The container's own arithmetic; functions are correctly rounded.
struct NativeSteps {
    Real round(double x) const { return static_cast<Real>(x); }
    Real add(Real a, Real b) const { return a + b; }
    Real sub(Real a, Real b) const { return a - b; }
    Real mul(Real a, Real b) const { return a * b; }
    Real div(Real a, Real b) const { return a / b; }
    Real sqrt(Real a) const { return std::sqrt(a); }
#define ULPLAB_FUNCTION(name, Function)               \
    Real name(Real a) const { return step::name(a); } \
    void name(std::span<const Real> a, std::span<Real> out) const { step::name(a, out); }
    ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION
};

/// A narrower format in the fp32 container, or fp32 without subnormals. Each step is taken in double and rounded once:
/// a double result of operands with at most 24 bits rounds to p bits as the exact one does (53 >= 2p + 2), down to the
/// subnormals, since double has range to spare. (Steps in fp32 would round twice among bf16's subnormals.)
class RoundedSteps {
  public:
    explicit RoundedSteps(const ComputeFormat& format)
        : target_(format.format, results_of(format.options)),
          smallest_read_(format.options.flush_inputs ? smallest_normal(format.format) : 0.0F) {}

    float round(double x) const { return static_cast<float>(target_.round(x)); }
    float add(float a, float b) const { return round(read(a) + read(b)); }
    float sub(float a, float b) const { return round(read(a) - read(b)); }
    float mul(float a, float b) const { return round(read(a) * read(b)); }
    float div(float a, float b) const { return round(read(a) / read(b)); }
    float sqrt(float a) const { return round(std::sqrt(read(a))); }
#define ULPLAB_FUNCTION(name, Function)                                   \
    float name(float a) const { return step::name(target_, operand(a)); } \
    void name(std::span<const float> a, std::span<float> out) const {     \
        for (std::size_t i = 0; i < a.size(); ++i) out[i] = name(a[i]);   \
    }
    ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION

  private:
    /// An operand as the step reads it: a subnormal as a zero of its sign, where they are flushed.
    float operand(float a) const { return std::abs(a) < smallest_read_ ? std::copysign(0.0F, a) : a; }
    double read(float a) const { return static_cast<double>(operand(a)); }

    step::Target target_;
    float smallest_read_;
};

/// fp64 mode knows no other format, and flushes nothing.
template <class Function>
void with_steps(const ComputeFormat& format, const Function& function) {
    if constexpr (!fp64_mode_on) {
        if (format != ComputeFormat{}) return function(RoundedSteps{format});
    }
    function(NativeSteps{});
}

}  // namespace ulp::inline ULPLAB_MODE
