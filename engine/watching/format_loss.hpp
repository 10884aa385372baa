// What a number format loses of an array: counted, with the same bits from any vector instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "softfloat/format.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp {

/// What rounding to nearest (ties to even) does to finite numbers.
struct FormatLoss {
    std::int64_t lost = 0;         // nonzero numbers that become zero
    std::int64_t subnormal = 0;    // those that become subnormal; of block-scaled formats: whose element does
    std::int64_t overflow = 0;     // those that become infinite or NaN, or lie as far beyond the largest number
    std::int64_t judged = 0;       // nonzero numbers that do not overflow; the members below are about these
    double relative_error = 0;     // sum of |error| / |number|; 1 for a lost number
    double worst = 0;              // the largest of these
    double signal = 0, noise = 0;  // sums of squares, of the numbers and of their errors

    void add(const FormatLoss& other);
    [[nodiscard]] std::optional<double> mean_relative_error() const;
    /// 10 log10(signal / noise); nothing where there is no error or nothing to judge.
    [[nodiscard]] std::optional<double> snr_db() const;
    bool operator==(const FormatLoss&) const = default;
};

/// The least magnitude that overflows; infinity where nothing does.
double overflow_from(const FloatFormat& format);

/// What a pass over an array finds that loss_of would need a pass of its own for.
struct ArrayScan {
    bool all_finite = true;
    bool any_powers = false;  // powers of two in fp32's normal range
    std::int64_t zeros = 0;   // +0 and -0
    float largest = 0;        // magnitude of the finite numbers
};
ArrayScan scan_array(std::span<const float> numbers, Simd simd = simd_choice());

/// Of fp32 numbers, fewer than 2^31. Sums have one order on every processor: |error| / |number| is rounded to fp32;
/// number i adds to the partial sum i mod 16, in fp64; these sixteen are added from the first to the last.
/// `scan` is that of the same numbers.
FormatLoss loss_of(const FloatFormat& format, std::span<const float> numbers, const ArrayScan& scan,
                   Simd simd = simd_choice());
/// The same by one number at a time, of fp32 or fp64 numbers (whose quotients are fp64).
FormatLoss loss_of_plain(const FloatFormat& format, std::span<const float> numbers);
FormatLoss loss_of_plain(const FloatFormat& format, std::span<const double> numbers);
/// Of numbers that occur several times each, as many as there are weights.
FormatLoss loss_of_weighted(const FloatFormat& format, std::span<const double> numbers,
                            std::span<const std::int64_t> weights);
/// Of numbers that became others. Magnitudes overflow from one limit on, and are normal from the other on.
FormatLoss loss_between(std::span<const float> numbers, std::span<const float> rounded, double overflow_at,
                        double smallest_normal);

}  // namespace ulp
