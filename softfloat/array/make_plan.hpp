// From a format and a context to the constants of plan.hpp.
#pragma once

#include <optional>

#include "softfloat/array/context.hpp"
#include "softfloat/array/kernels/kernel_table.hpp"
#include "softfloat/format.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::array {

template <class Word>
struct BasicPlan {
    BasicRoundingPlan<Word> constants;
    KernelRange range;
    Rounding rounding;  // the kernel: not the context's where the format has all of the container's digits
};
using Plan = BasicPlan<std::uint32_t>;
using Plan64 = BasicPlan<std::uint64_t>;

/// Whether the kernels can do it for values carried in fp32: not for formats that reach beyond fp32, or without sign or
/// subnormals. The scalar functions then do.
bool has_plan(const FloatFormat& format);
/// The same for values carried in fp64.
bool has_plan64(const FloatFormat& format);

/// For values carried in fp32; nothing without has_plan.
std::optional<Plan> make_plan(const FloatFormat& format, const Context& context);
/// The same for values carried in fp64.
std::optional<Plan64> make_plan64(const FloatFormat& format, const Context& context);

/// Sets the plan's random numbers to those of the elements from `element` on.
template <class Word>
[[gnu::visibility("hidden")]] void start_random(BasicRoundingPlan<Word>& plan, const Context& context,
                                                std::size_t element);

}  // namespace ulp::array
#pragma GCC visibility pop
