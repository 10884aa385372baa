#include "engine/watching/exponent_counts.hpp"

#include <bit>

#include "engine/kernels/exponent_counts.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

std::int64_t add_exponents(std::span<const float> values, std::int64_t* fields, std::int64_t& zeros, Simd simd) {
    return kernels_of<ExponentKernels>(simd).count(values.data(), values.size(), fields, &zeros);
}

Tally tally_of(std::span<const float> values, Simd simd) {
    Tally tally;
    kernels_of<ExponentKernels>(simd).tally(values.data(), values.size(), &tally.zeros, &tally.finite);
    return tally;
}

bool all_finite(std::span<const float> values, Simd simd) {
    return kernels_of<ExponentKernels>(simd).all_finite(values.data(), values.size());
}

Tally tally_of(std::span<const double> values) {
    constexpr std::uint64_t infinity = 0x7FF0000000000000;
    Tally tally;
    for (const double x : values) {
        tally.zeros += x == 0 ? 1 : 0;
        tally.finite += (std::bit_cast<std::uint64_t>(x) & infinity) != infinity ? 1 : 0;
    }
    return tally;
}

bool all_finite(std::span<const double> values) {
    return tally_of(values).finite == static_cast<std::int64_t>(values.size());
}

}  // namespace ulp
