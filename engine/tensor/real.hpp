// The number type that holds the trainer's numbers, chosen when a source is compiled: float, which holds every number
// of formats up to fp32, or in fp64 mode (the macro ULPLAB_FP64) double, in which gradients are checked.
//
// The same sources are compiled in each mode, into an inline namespace of its own: ulp::Tensor is
// ulp::fp32_mode::Tensor or ulp::fp64_mode::Tensor. So both may be in one program, and what is compiled in one mode and
// linked with the library of the other does not link, where it would otherwise compute nonsense.
#pragma once

#include <cstdint>
#include <type_traits>

#include "softfloat/format.hpp"

#ifdef ULPLAB_FP64
#define ULPLAB_MODE fp64_mode
#define ULPLAB_REAL double
#else
#define ULPLAB_MODE fp32_mode
#define ULPLAB_REAL float
#endif

namespace ulp::inline ULPLAB_MODE {

using Real = ULPLAB_REAL;
constexpr bool fp64_mode_on = std::is_same_v<Real, double>;

/// The container's own format: it holds every value of the tensors' formats exactly.
inline constexpr FloatFormat container_format = fp64_mode_on ? formats::fp64 : formats::fp32;
/// An integer of the container's size.
using RealWord = std::conditional_t<fp64_mode_on, std::uint64_t, std::uint32_t>;

}  // namespace ulp::inline ULPLAB_MODE
