// Exponents of a tensor's numbers, counted: what a format can hold of them, and what a loss scale of 2^n does (it moves
// every count by exactly n places).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "softfloat/format.hpp"

namespace ulp {

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
