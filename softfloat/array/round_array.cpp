#include <algorithm>

#include "softfloat/array/array.hpp"
#include "softfloat/array/environment.hpp"
#include "softfloat/array/make_plan.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/round.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

void round_array(const FloatFormat& format, std::span<const float> from, std::span<float> to,
                 const ArrayContext& context, Simd simd) {
    array::require_same_size("round_array", from.size(), to.size());
    array::require_sensible(context);
    if (const auto plan = array::make_plan(format, context)) {
        const array::FloatEnvironment environment(Rounding::nearest_even);
        const auto& kernels = kernels_of<array::KernelTable>(simd).round[static_cast<int>(plan->rounding)];
        kernels[plan->range](plan->constants, from.data(), to.data(), from.size());
        return;
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
        Context scalar = scalar_context(context, i);
        to[i] = round_to(format, from[i], scalar);
    }
}

void round_array(const FloatFormat& format, std::span<const double> from, std::span<double> to,
                 const ArrayContext& context, Simd simd) {
    array::require_same_size("round_array", from.size(), to.size());
    array::require_sensible(context);
    auto plan = array::make_plan(format, context);
    if (!plan || !array::by_odd_fp32(format, context)) {
        for (std::size_t i = 0; i < from.size(); ++i) {
            Context scalar = scalar_context(context, i);
            to[i] = round_to(format, from[i], scalar);
        }
        return;
    }
    const array::KernelTable& kernels = kernels_of<array::KernelTable>(simd);
    const auto round = kernels.round[static_cast<std::size_t>(plan->rounding)][plan->range];
    const array::FloatEnvironment environment(Rounding::nearest_even);
    alignas(64) std::uint32_t buffer[array::block_size];
    for (std::size_t begin = 0; begin < from.size(); begin += array::block_size) {
        const std::size_t now = std::min(array::block_size, from.size() - begin);
        if (context.rounding == Rounding::stochastic) start_random(plan->constants, context, begin);
        kernels.narrow(plan->constants, from.data() + begin, buffer, now);
        round(plan->constants, buffer, buffer, now);
        kernels.widen(plan->constants, buffer, to.data() + begin, now);
    }
}

void round_array(const FloatFormat& format, std::span<double> values, const ArrayContext& context, Simd simd) {
    round_array(format, values, values, context, simd);
}

void round_array(const FloatFormat& format, std::span<float> values, const ArrayContext& context, Simd simd) {
    round_array(format, values, values, context, simd);
}

}  // namespace ulp
