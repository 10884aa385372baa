// The kernels of engine/watching/histogram.hpp, one table for each set of vector instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(hidden)
namespace ulp {

struct ExponentKernels {
    /// Adds to the counts of the exponent fields 1 to 254, and of zeros. Returns how many numbers are neither:
    /// subnormal numbers, infinities and NaNs.
    std::int64_t (*count)(const float* values, std::size_t count, std::int64_t* fields, std::int64_t* zeros);
    /// Adds the numbers that are zero, and those that are finite.
    void (*tally)(const float* values, std::size_t count, std::int64_t* zeros, std::int64_t* finite);
    /// The largest word without its sign.
    std::uint32_t (*largest)(const float* values, std::size_t count);

    static const ExponentKernels portable, avx2, avx512, neon;  // chosen by kernels_of (softfloat/vector/dispatch.hpp)
};

}  // namespace ulp
#pragma GCC visibility pop
