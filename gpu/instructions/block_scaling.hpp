// The kinds of block scaling that mma.sync of sm_120 and tcgen05.mma of sm_100 have (PTX ISA 9.0, "Block scaling"):
// every `scale_block` elements of a row of A, and of a column of B, share a scale of one byte.
#pragma once

#include <cstdint>
#include <string_view>

#include "softfloat/format.hpp"

namespace ulp::gpu {

/// Named as in softfloat/matrix_units/block_scaled.hpp.
enum class Scaling : std::uint8_t {
    none,
    mxf8f6f4,      // .kind::mxf8f6f4, .scale_vec::1X, .ue8m0
    mxf4,          // .kind::mxf4, .scale_vec::2X, .ue8m0
    mxf4_block16,  // .kind::mxf4nvf4, .scale_vec::4X, .ue8m0
    nvf4           // .kind::mxf4nvf4, .scale_vec::4X, .ue4m3
};

constexpr std::string_view name_of(Scaling scaling) {
    switch (scaling) {
        case Scaling::none: return "";
        case Scaling::mxf8f6f4: return "mxf8f6f4";
        case Scaling::mxf4: return "mxf4";
        case Scaling::mxf4_block16: return "mxf4_block16";
        case Scaling::nvf4: return "nvf4";
    }
    return "";
}

/// Scales of `k` elements.
constexpr int scales_of(Scaling scaling, int k) {
    if (scaling == Scaling::none) return 0;
    return k / (scaling == Scaling::nvf4 || scaling == Scaling::mxf4_block16 ? 16 : 32);
}

/// Meaningful where there are scales.
constexpr FloatFormat scale_format_of(Scaling scaling) {
    return scaling == Scaling::nvf4 ? formats::e4m3 : formats::e8m0;
}

static_assert(scales_of(Scaling::mxf8f6f4, 32) == 1 && scales_of(Scaling::mxf4, 64) == 2);
static_assert(scales_of(Scaling::mxf4_block16, 64) == 4 && scale_format_of(Scaling::mxf4_block16) == formats::e8m0);
static_assert(scales_of(Scaling::nvf4, 64) == 4 && scale_format_of(Scaling::mxf4).storage_bits() == 8);

}  // namespace ulp::gpu
