// The kernels of engine/watching/format_loss.hpp, one table for each set of vector instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(hidden)
namespace ulp {

/// A format as words of fp32 magnitudes, which order as integers.
struct LossLimits {
    std::uint32_t kept_at;          // from here on a magnitude does not become zero
    std::uint32_t normal_at;        // from here on it becomes a normal number
    std::uint32_t overflow_at;      // from here on it overflows
    std::uint32_t lowest_exponent;  // 2^emin
    std::uint32_t cut;              // fraction bits that are dropped, in the exponent's place
};

/// Of numbers 0, 1, 2 ...; partial sum j is that of the numbers j, j + 16, j + 32 ..., in this order.
inline constexpr int loss_sums = 16;
struct LossSums {
    std::int64_t lost = 0;   // nonzero numbers below kept_at
    std::int64_t small = 0;  // nonzero numbers below normal_at
    float worst = 0;         // largest |error| / |number|
    double relative[loss_sums] = {}, signal[loss_sums] = {}, noise[loss_sums] = {};
};

struct LossScan {
    std::uint32_t largest = 0;  // word of the largest magnitude; infinities and NaNs are above all numbers
    std::uint32_t powers = 0;   // not 0 if a number is a power of two of fp32's normal range
    std::int64_t zeros = 0;     // +0 and -0
};

/// `count` is a multiple of loss_sums and less than 2^31.
struct LossKernels {
    void (*scan)(const float* values, std::size_t count, LossScan* scan);
    /// Of finite numbers that do not overflow and lie below 2^(127 - 23 + fraction bits).
    void (*count)(const LossLimits&, const float* values, std::size_t count, LossSums* sums);
    /// The same where numbers may be anything: those that overflow, infinities and NaNs count for nothing.
    void (*count_inside)(const LossLimits&, const float* values, std::size_t count, LossSums* sums);

    static const LossKernels portable, avx2, avx512, neon;  // chosen by kernels_of (softfloat/vector/dispatch.hpp)
};

}  // namespace ulp
#pragma GCC visibility pop
