// A format to compute in or to store to, and how: whether subnormal numbers are flushed, whether overflow saturates.
#pragma once

#include <bit>
#include <cstdint>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

namespace ulp {

/// Processors may flush subnormal numbers: "denormals are zero" (options.flush_inputs) for what an operation reads,
/// "flush to zero" (options.flush_outputs) for what it leaves. Signs stay. The rounding is to nearest even.
struct ComputeFormat {
    FloatFormat format;
    Context options;
    /// Implicit: a format alone keeps subnormal numbers, and overflows to infinity.
    constexpr ComputeFormat(const FloatFormat& computed_in = formats::fp32, const Context& how = {})  // NOLINT
        : format(computed_in), options(how) {}
    constexpr bool operator==(const ComputeFormat&) const = default;
};

/// The options as far as they concern results: how what was computed is rounded and stored.
constexpr Context results_of(Context options) {
    options.flush_inputs = false;
    return options;
}

/// 2^emin, of a format whose normal numbers are fp32's.
constexpr float smallest_normal(const FloatFormat& format) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(format.emin() + 127) << 23);
}

static_assert(smallest_normal(formats::fp16) == 0x1p-14F && smallest_normal(formats::fp32) == 0x1p-126F);

}  // namespace ulp
