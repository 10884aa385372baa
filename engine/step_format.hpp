// A format to compute in or to store to: with what becomes of its subnormal numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "softfloat/format.hpp"

namespace ulp {

/// Processors may flush subnormal numbers: "denormals are zero" for what an operation reads, "flush to zero" for what
/// it leaves (a result that lies below 2^emin after rounding with an unbounded exponent). Signs stay.
struct Subnormals {
    bool flush_inputs = false;
    bool flush_outputs = false;
    constexpr bool operator==(const Subnormals&) const = default;
};

struct StepFormat : FloatFormat {
    Subnormals subnormals;
    constexpr StepFormat(const FloatFormat& format = formats::fp32, Subnormals how = {})  // NOLINT: a format is one
        : FloatFormat(format), subnormals(how) {}
};

/// 2^emin, of a format whose normal numbers are fp32's.
constexpr float smallest_normal(const FloatFormat& format) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(format.emin() + 127) << 23);
}

static_assert(smallest_normal(formats::fp16) == 0x1p-14F && smallest_normal(formats::fp32) == 0x1p-126F);

}  // namespace ulp
