// The elementary steps of an operation's inside, each rounded to the format the operation computes in.
//
// with_steps<Real>(format, [&](const auto& s) { y = s.add(s.mul(a, b), c); }) runs the same written algorithm in fp32
// (the carrier's own arithmetic) or with every step rounded to fp16, bf16, ... as the softfloat types would.
#pragma once

#include <cmath>

#include "engine/pinned_math.hpp"
#include "engine/rounder.hpp"
#include "engine/tensor.hpp"

namespace ulp {

/// The carrier's own arithmetic; functions are pinned and rounded once.
template <class Real>
struct NativeSteps {
    Real round(double x) const { return static_cast<Real>(x); }
    Real add(Real a, Real b) const { return a + b; }
    Real sub(Real a, Real b) const { return a - b; }
    Real mul(Real a, Real b) const { return a * b; }
    Real div(Real a, Real b) const { return a / b; }
    Real sqrt(Real a) const { return std::sqrt(a); }
    Real exp(Real a) const { return static_cast<Real>(pinned::exp(a)); }
    Real log(Real a) const { return static_cast<Real>(pinned::log(a)); }
    Real log1p(Real a) const { return static_cast<Real>(pinned::log1p(a)); }
    Real tanh(Real a) const { return static_cast<Real>(pinned::tanh(a)); }
    Real sigmoid(Real a) const { return static_cast<Real>(pinned::sigmoid(a)); }
    Real erf(Real a) const { return static_cast<Real>(pinned::erf(a)); }
};

/// A narrower format on the fp32 carrier. Each step is taken in double and rounded once: a double result of operands
/// with at most 24 bits rounds to p bits as the exact one does (53 >= 2p + 2), down to the subnormals, since double has
/// range to spare. (Steps in fp32 would round twice among bf16's subnormals.)
struct RoundedSteps {
    Rounder<double> to_format;
    float round(double x) const { return static_cast<float>(to_format(x)); }
    float add(float a, float b) const { return round(static_cast<double>(a) + static_cast<double>(b)); }
    float sub(float a, float b) const { return round(static_cast<double>(a) - static_cast<double>(b)); }
    float mul(float a, float b) const { return round(static_cast<double>(a) * static_cast<double>(b)); }
    float div(float a, float b) const { return round(static_cast<double>(a) / static_cast<double>(b)); }
    float sqrt(float a) const { return round(std::sqrt(static_cast<double>(a))); }
    float exp(float a) const { return round(pinned::exp(a)); }
    float log(float a) const { return round(pinned::log(a)); }
    float log1p(float a) const { return round(pinned::log1p(a)); }
    float tanh(float a) const { return round(pinned::tanh(a)); }
    float sigmoid(float a) const { return round(pinned::sigmoid(a)); }
    float erf(float a) const { return round(pinned::erf(a)); }
};

template <class Real, class Function>
void with_steps(const FloatFormat& format, const Function& function) {
    if constexpr (std::is_same_v<Real, float>) {
        if (format != formats::fp32) return function(RoundedSteps{Rounder<double>(format)});
    }
    function(NativeSteps<Real>{});
}

}  // namespace ulp
