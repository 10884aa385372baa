#include "softfloat/quantization/fp64_operands.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "softfloat/format.hpp"
#include "softfloat/support/float_environment.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

/// The neighbour of a finite fp32 number in the direction of x, which is another number.
float next_toward(float nearest, double x) {
    if (nearest == 0) return std::copysign(std::numeric_limits<float>::denorm_min(), nearest);
    const bool outward = std::fabs(x) > std::fabs(static_cast<double>(nearest));
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) + (outward ? 1U : ~0U));
}

}  // namespace

void carry_in_fp32(const Quantization& how, std::span<const double> from, std::span<float> to) {
    const support::FloatEnvironment own;
    // Elements have `precision` bits, the middles between them one more: below those a number of few bits has zeros.
    const int kept = how.element.precision() + 1;
    const int below = formats::fp32.precision() - kept;
    const std::uint32_t low_bits = below > 0 ? (1U << below) - 1 : 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const double x = from[i];
        const auto nearest = static_cast<float>(x);
        to[i] = nearest;
        if (static_cast<double>(nearest) == x || std::isnan(x)) continue;
        if (std::isinf(nearest)) {
            throw std::range_error("number " + std::to_string(i) + " of the operand, " +
                                   to_decimal(formats::fp64, std::bit_cast<std::uint64_t>(x)) +
                                   ", lies beyond fp32, in which scales are computed; scale the operand first");
        }
        // A subnormal number's bits lie further down: all of them count as few.
        const bool subnormal = std::fabs(nearest) < std::numeric_limits<float>::min();
        if (subnormal || (std::bit_cast<std::uint32_t>(nearest) & low_bits) == 0) to[i] = next_toward(nearest, x);
    }
}

}  // namespace ulp
