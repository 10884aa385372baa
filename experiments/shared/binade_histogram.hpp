// Histograms of exponents: how many numbers of a tensor lie in each binade, and what fp16 would make of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "engine/watching/histogram.hpp"
#include "experiments/framework/result.hpp"

namespace ulp {

/// A histogram of exponents for figures, with what fp16 loses of the numbers.
class BinadeHistogram : public ExponentHistogram {
  public:
    /// Counts the values; bin e holds those with 2^e <= |x| < 2^(e+1).
    void add(std::span<const float> values);
    void add(const BinadeHistogram& other);

    /// The bins that are not empty.
    [[nodiscard]] std::map<int, std::int64_t> bins() const;
    /// Nonzero values that become zero when they are rounded to fp16, and those that become subnormal there.
    [[nodiscard]] std::int64_t lost_in_fp16() const { return lost_; }
    [[nodiscard]] std::int64_t subnormal_in_fp16() const { return subnormal_; }
    /// Of the values that are not zero, the share that a loss scale of 2^exponent leaves below half of fp16's smallest
    /// number; 0 where all are zero.
    [[nodiscard]] double lost_share(int exponent) const;

    /// A share of all values, zeros included.
    [[nodiscard]] double share(std::int64_t count) const {
        return total() == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(total());
    }
    /// Share of all values a bin, over the whole range that figures show.
    [[nodiscard]] Series series(std::string name) const;

    /// Whether `other` holds the same counts, each bin moved up by `binades`.
    [[nodiscard]] bool equals_shifted(const BinadeHistogram& other, int binades) const;

  private:
    std::int64_t lost_ = 0;
    std::int64_t subnormal_ = 0;
};

/// Histograms of binades side by side, with what fp16 loses.
void draw_binades(Figure& figure, Axis x, std::string y_label);
/// The same in panels, a curve for each series: the panel that its name begins with (`words`) holds it, and the key has
/// the rest of its name.
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
