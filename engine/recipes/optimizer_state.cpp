#include "engine/recipes/optimizer_state.hpp"

#include <algorithm>
#include <cmath>

#include "engine/tensor/rounder.hpp"
#include "softfloat/quantization/scale_of_block.hpp"

namespace ulp {

float power_of_two_scale(const FloatFormat& format, float amax) {
    if (!(amax > 0) || std::isinf(amax)) return 1;
    const float quotient = largest_number(format) / amax;
    const int highest = -formats::fp32.smallest_exponent() + format.smallest_exponent();
    const int exponent = std::min(std::isinf(quotient) ? formats::fp32.emax() : std::ilogb(quotient), highest);
    return std::ldexp(1.0F, std::min(exponent, formats::fp32.emax() - 1));
}

template <class Real>
void keep_in(const StateFormat& kept, const Context& rounding, BasicTensor<Real>& tensor) {
    if (!kept.scaled) return tensor.round_to_format({kept.format, rounding});
    float amax = 0;
    for (const Real x : tensor.values()) {
        if (!std::isfinite(x)) return;
        amax = std::max(amax, std::abs(static_cast<float>(x)));
    }
    const Real scale = power_of_two_scale(kept.format, amax);
    const Rounder<Real> round(kept.format, results_of(rounding));
    for (Real& x : tensor.values()) x = round(x * scale) / scale;
}
template void keep_in(const StateFormat&, const Context&, Tensor&);
template void keep_in(const StateFormat&, const Context&, BasicTensor<double>&);

}  // namespace ulp
