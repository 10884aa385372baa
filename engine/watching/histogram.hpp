// Exponents of a tensor's numbers, counted: what a format can hold of them, and what a loss scale of 2^n does (it moves
// every count by exactly n places).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "softfloat/format.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp {

// Counts over tensors for those who watch a training: cheap enough to keep on.

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

/// The largest magnitude, 0 of no numbers; a NaN is larger than infinity.
float largest_magnitude(std::span<const float> values, Simd simd = simd_choice());
/// Whether no number is infinite or NaN.
bool all_finite(std::span<const float> values, Simd simd = simd_choice());
bool all_finite(std::span<const double> values);
/// The same of a tensor.
template <class Tensor>
requires requires(const Tensor& tensor) { tensor.values(); }
bool all_finite(const Tensor& tensor) { return all_finite(tensor.values()); }

class ExponentHistogram {
  public:
    static constexpr int lowest = -149;  // fp32's subnormals are counted by their leading bit
    static constexpr int highest = 127;

    /// Counts the numbers. A pass of one count an element, cheap enough to keep on.
    void add(std::span<const float> values);
    void add(const ExponentHistogram& other);

    /// Numbers with magnitude in [2^exponent, 2^(exponent + 1)).
    [[nodiscard]] std::int64_t at(int exponent) const { return counts_[static_cast<std::size_t>(exponent - lowest)]; }
    [[nodiscard]] std::int64_t zeros() const { return zeros_; }  // +0 and -0
    [[nodiscard]] std::int64_t infinities() const { return infinities_; }
    [[nodiscard]] std::int64_t nans() const { return nans_; }
    [[nodiscard]] std::int64_t total() const;

    /// Numbers that are not zero and lie below 2^exponent; below the format's smallest number (they become zero or
    /// that).
    [[nodiscard]] std::int64_t below(int exponent) const { return sum(lowest, exponent - 1); }
    [[nodiscard]] std::int64_t below(const FloatFormat& format) const { return below(format.smallest_exponent()); }
    /// Numbers with an exponent beyond the format's largest.
    [[nodiscard]] std::int64_t above(const FloatFormat& format) const { return sum(format.emax() + 1, highest); }
    /// The exponent of the largest finite number; nothing where none is finite and not zero.
    [[nodiscard]] std::optional<int> largest_exponent() const;

    /// Numbers with exponents from `first` to `last`.
    [[nodiscard]] std::int64_t sum(int first, int last) const;

  private:
    void add_chunk(std::span<const float> values);

    std::array<std::int64_t, highest - lowest + 1> counts_{};
    std::int64_t zeros_ = 0;
    std::int64_t infinities_ = 0;
    std::int64_t nans_ = 0;
};

}  // namespace ulp
