// NaNs whose bits matter: a code that passes through a wider format comes back unchanged, sign and payload included.
//
// convert_bits makes the format's quiet NaN of every NaN, as arithmetic does. A container must not.
#pragma once

#include "softfloat/round.hpp"

namespace ulp {

/// A NaN of one format as a NaN of another that has NaNs. To more fraction bits: the sign and the payload, the payload
/// at the top of the fraction, filled up with zeros; the all-ones NaN (NVIDIA's, and the only one of E4M3 and E8M0)
/// stays all ones. To fewer: the top of the payload, made quiet if nothing of it is left. The way back from the wider
/// format gives the code again.
constexpr std::uint64_t nan_with_payload(const FloatFormat& to, const FloatFormat& from, std::uint64_t bits) {
    if (to.has_nan_for_negative_zero() || to.is_table()) return nan_bits(to);
    const bool sign = sign_of(from, bits) && !from.has_nan_for_negative_zero();
    const std::uint64_t payload = magnitude_of(from, bits) & from.fraction_mask();
    const int added = to.fraction_bits - from.fraction_bits;
    std::uint64_t fraction = added >= 0 ? payload << added : payload >> -added;
    if (from.specials != Specials::ieee || payload == from.fraction_mask()) fraction = to.fraction_mask();
    if (to.specials != Specials::ieee) return pack(to, sign, to.nan_code());
    if (fraction == 0) return pack(to, sign, to.nan_code());
    return pack(to, sign, to.infinity_magnitude() | fraction);
}

/// convert_bits, but a NaN keeps its sign and payload (nan_with_payload) and raises no flag where the new format has
/// NaNs.
constexpr std::uint64_t convert_keeping_nan(const FloatFormat& to, const FloatFormat& from, std::uint64_t bits,
                                            Context& context) {
    if (to.has_nan() && is_nan(from, bits)) return nan_with_payload(to, from, bits);
    return convert_bits(to, from, bits, context);
}

static_assert(nan_with_payload(formats::fp32, formats::fp16, 0xFE01) == 0xFFC02000);
static_assert(nan_with_payload(formats::fp16, formats::fp32, 0xFFC02000) == 0xFE01);
static_assert(nan_with_payload(formats::fp32, formats::fp16, 0x7FFF) == 0x7FFFFFFF);
static_assert(nan_with_payload(formats::bf16, formats::fp32, 0x7F800001) == 0x7FC0);
static_assert(nan_with_payload(formats::e4m3, formats::fp32, 0xFFFFFFFF) == 0xFF);

}  // namespace ulp
