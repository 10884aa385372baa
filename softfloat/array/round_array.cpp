#include "softfloat/array/array.hpp"
#include "softfloat/array/dispatch.hpp"
#include "softfloat/array/make_plan.hpp"
#include "softfloat/round.hpp"

namespace ulp {

void round_array(const FloatFormat& format, std::span<const float> from, std::span<float> to,
                 const ArrayContext& context, Simd simd) {
    array::require_same_size("round_array", from.size(), to.size());
    array::require_sensible(context);
    if (const auto plan = array::make_plan(format, context)) {
        const auto& kernels = array::kernels_of(simd).round[static_cast<int>(plan->rounding)];
        kernels[plan->shape](plan->constants, from.data(), to.data(), from.size());
        return;
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
        Context scalar = scalar_context(context, i);
        to[i] = round_to(format, from[i], scalar);
    }
}

void round_array(const FloatFormat& format, std::span<float> values, const ArrayContext& context, Simd simd) {
    round_array(format, values, values, context, simd);
}

}  // namespace ulp
