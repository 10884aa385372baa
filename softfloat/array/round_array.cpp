#include "softfloat/array/array.hpp"
#include "softfloat/array/environment.hpp"
#include "softfloat/array/make_plan.hpp"
#include "softfloat/array/path.hpp"
#include "softfloat/array/steps.hpp"
#include "softfloat/round.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {
namespace {

template <class Real>
void round_each(const FloatFormat& format, std::span<const Real> from, std::span<Real> to, const Context& context) {
    for (std::size_t i = 0; i < from.size(); ++i) {
        Context scalar = scalar_context(context, i);
        to[i] = round_to(format, from[i], scalar);
    }
}

}  // namespace

void round_array(const FloatFormat& format, std::span<const float> from, std::span<float> to, const Context& context,
                 Simd simd) {
    array::require_same_size("round_array", from.size(), to.size());
    const array::Path path = array::choose_round_path(format, formats::fp32, context, simd);
    if (path.kernel == array::Kernel::scalar_loop) return round_each(format, from, to, context);
    if (path.kernel == array::Kernel::steps) {
        return array::steps_to(format, context)->round(from.data(), to.data(), from.size());
    }
    const array::FloatEnvironment environment(Rounding::nearest_even);
    if (path.kernel == array::Kernel::half_nearest) {
        return kernels_of<array::KernelTable>(path.simd).through_half({}, from.data(), to.data(), from.size());
    }
    const auto plan = array::make_plan(format, context);
    const auto& kernels = kernels_of<array::KernelTable>(path.simd).round[static_cast<int>(plan->rounding)];
    kernels[plan->range](plan->constants, from.data(), to.data(), from.size());
}

void round_array(const FloatFormat& format, std::span<const double> from, std::span<double> to, const Context& context,
                 Simd simd) {
    array::require_same_size("round_array", from.size(), to.size());
    const array::Path path = array::choose_round_path(format, formats::fp64, context, simd);
    if (path.kernel == array::Kernel::scalar_loop) return round_each(format, from, to, context);
    const array::FloatEnvironment environment(Rounding::nearest_even);
    const auto plan = array::make_plan64(format, context);
    const auto& kernels = kernels_of<array::KernelTable>(path.simd).round64[static_cast<int>(plan->rounding)];
    kernels[plan->range](plan->constants, from.data(), to.data(), from.size());
}

void round_array(const FloatFormat& format, std::span<double> values, const Context& context, Simd simd) {
    round_array(format, values, values, context, simd);
}

void round_array(const FloatFormat& format, std::span<float> values, const Context& context, Simd simd) {
    round_array(format, values, values, context, simd);
}

}  // namespace ulp
