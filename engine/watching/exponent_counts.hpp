// Counts over tensors for those who watch a training: cheap enough to keep on.
#pragma once

#include <cstdint>
#include <span>

#include "softfloat/vector/simd_choice.hpp"

namespace ulp {

/// Adds to fields[1] to fields[254], the numbers by their exponent field, and to the zeros; returns how many numbers
/// are neither: subnormal numbers, infinities and NaNs. (histogram.hpp counts with it.)
std::int64_t add_exponents(std::span<const float> values, std::int64_t* fields, std::int64_t& zeros,
                           Simd simd = simd_choice());

struct Tally {
    std::int64_t zeros = 0;  // +0 and -0
    std::int64_t finite = 0;
    constexpr bool operator==(const Tally&) const = default;
    constexpr Tally& operator+=(const Tally& other) {
        zeros += other.zeros;
        finite += other.finite;
        return *this;
    }
};
Tally tally_of(std::span<const float> values, Simd simd = simd_choice());
Tally tally_of(std::span<const double> values);

/// Whether no number is infinite or NaN.
bool all_finite(std::span<const float> values, Simd simd = simd_choice());
bool all_finite(std::span<const double> values);
/// The same of a tensor.
template <class Tensor>
requires requires(const Tensor& tensor) { tensor.values(); }
bool all_finite(const Tensor& tensor) { return all_finite(tensor.values()); }

}  // namespace ulp
