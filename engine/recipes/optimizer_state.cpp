#include "engine/recipes/optimizer_state.hpp"

#include <algorithm>
#include <cmath>

#include "softfloat/quantization/scale_of_block.hpp"

namespace ulp {

float power_of_two_scale(const FloatFormat& format, float amax) {
    if (!(amax > 0) || std::isinf(amax)) return 1;
    const float quotient = largest_number(format) / amax;
    const int highest = -formats::fp32.smallest_exponent() + format.smallest_exponent();
    const int exponent = std::min(std::isinf(quotient) ? formats::fp32.emax() : std::ilogb(quotient), highest);
    return std::ldexp(1.0F, std::min(exponent, formats::fp32.emax() - 1));
}

}  // namespace ulp
