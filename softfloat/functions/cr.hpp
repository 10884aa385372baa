// The functions on fp32 as the trainer uses them: one definition, the same bits on every processor, compiler and GPU.
// Each is the correctly rounded function (to nearest even), so nothing about how it is computed can show.
#pragma once

#include <bit>

#include "softfloat/functions/binary.hpp"
#include "softfloat/functions/catalog.hpp"
#include "softfloat/functions/list.hpp"

namespace ulp::cr {

#define ULPLAB_FUNCTION(name, Function) \
    constexpr float name(float x) { return evaluate_fp32<functions::Function>(x); }
ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION

constexpr float pow(float x, float y) {
    // 2^-126 < x^y < 2^127, where float(e^(y log x)) is in range; an x <= 0 is left to the rules.
    if (support::has_default_arithmetic() && functions::positive().contains(x) && functions::finite().contains(y)) {
        const double exponent = static_cast<double>(y) * quick_phase::log(static_cast<double>(x));
        if (exponent > -87 && exponent < 88) {
            const QuickFloat quick = round_quick_fp32(quick_phase::exp(exponent));
            if (quick.decided) return quick.value;
        }
    }
    Context context;
    return std::bit_cast<float>(static_cast<std::uint32_t>(
        pow_bits(formats::fp32, std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(y), context)));
}
constexpr float hypot(float x, float y) {
    // The squares are exact in double.
    const double square = static_cast<double>(x) * x + static_cast<double>(y) * y;
    if (support::has_default_arithmetic() && square > 0x1p-250 && square < 0x1p253) {
        const QuickFloat quick = round_quick_fp32(square * quick_phase::rsqrt(square));
        if (quick.decided) return quick.value;
    }
    Context context;
    return std::bit_cast<float>(static_cast<std::uint32_t>(
        hypot_bits(formats::fp32, std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(y), context)));
}

static_assert(exp(0.0F) == 1.0F && exp(1.0F) == 0x1.5BF0A8p1F && log(2.0F) == 0x1.62E43p-1F);
static_assert(tanh(0.5F) == 0x1.D9353Ep-2F && tanh(100.0F) == 1.0F && gelu(-20.0F) == 0.0F);

}  // namespace ulp::cr
