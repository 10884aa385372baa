// Histograms of exponents: how many numbers of a tensor lie in each binade, and what fp16 would make of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "experiments/framework/result.hpp"

namespace ulp {

/// For figures: bins as they come, what fp16 loses. The trainer's own, cheap enough to keep on:
/// engine/watching/histogram.hpp.
class BinadeHistogram {
  public:
    /// Counts the values; bin e holds those with 2^e <= |x| < 2^(e+1).
    void add(std::span<const float> values);
    void add(const BinadeHistogram& other);

    [[nodiscard]] std::int64_t total() const { return total_; }
    [[nodiscard]] std::int64_t zeros() const { return zeros_; }
    [[nodiscard]] const std::map<int, std::int64_t>& bins() const { return bins_; }
    /// Nonzero values that become zero when they are rounded to fp16, and those that become subnormal there.
    [[nodiscard]] std::int64_t lost_in_fp16() const { return lost_; }
    [[nodiscard]] std::int64_t subnormal_in_fp16() const { return subnormal_; }
    /// Nonzero values smaller than 2^exponent.
    [[nodiscard]] std::int64_t below(int exponent) const;
    /// Of the values that are not zero, the share that a loss scale of 2^exponent leaves below half of fp16's smallest
    /// number; 0 where all are zero.
    [[nodiscard]] double lost_share(int exponent) const;
    /// The exponent of the largest finite value; nothing where none is finite and not zero.
    [[nodiscard]] std::optional<int> largest_exponent() const {
        return bins_.empty() ? std::nullopt : std::optional(bins_.rbegin()->first);
    }

    /// A share of all values, zeros included.
    [[nodiscard]] double share(std::int64_t count) const {
        return total_ == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(total_);
    }
    /// Share of all values a bin, over the whole range that figures show.
    [[nodiscard]] Series series(std::string name) const;

    /// Whether `other` holds the same counts, each bin moved up by `binades`.
    [[nodiscard]] bool equals_shifted(const BinadeHistogram& other, int binades) const;

  private:
    std::map<int, std::int64_t> bins_;
    std::int64_t total_ = 0;
    std::int64_t zeros_ = 0;
    std::int64_t lost_ = 0;
    std::int64_t subnormal_ = 0;
};

/// Histograms of binades side by side, with what fp16 loses.
void draw_binades(Figure& figure, Axis x, std::string y_label);
/// The same in panels, a curve for each series: the panel that its name begins with (`words`) holds it, and the rest of
/// its name stands in the key.
void draw_binades_in_panels(Figure& figure, Axis x, const std::vector<std::string>& words, std::vector<Panel> panels);

/// All counts together of the histograms that `of` finds in the items.
template <class Items, class Of>
BinadeHistogram pooled(const Items& items, const Of& of) {
    BinadeHistogram sum;
    for (const auto& item : items) sum.add(of(item));
    return sum;
}

/// The bins that figures show.
inline constexpr int first_shown_bin = -48;
inline constexpr int last_shown_bin = 16;

}  // namespace ulp
