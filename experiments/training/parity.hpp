// When one way to train is as good as another: the differences of runs with the same seed (same data, order and first
// weights) are judged by their interval against a margin that is fixed beforehand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/framework/result.hpp"

namespace ulp {

/// A score over the seeds of one arm.
struct Spread {
    double least, middle, largest;  // middle: of the sorted, the lower one of two
    double mean;

    [[nodiscard]] double width() const { return largest - least; }
};
/// Throws std::invalid_argument for no values.
Spread spread_of(std::vector<double> values);
double mean_of(std::span<const double> values);

/// The mean of paired differences, and where it lies with a confidence of 95 % by Student's t: infinitely wide for one
/// pair. Differences that are all equal have no width.
struct PairedDifference {
    double mean, low, high;
    double deviation;  // sample standard deviation of a difference; NaN for one pair
    std::int64_t seeds;
};
/// arm[i] - reference[i]. Throws std::invalid_argument for none, or unequally many.
PairedDifference paired_difference(std::span<const double> arm, std::span<const double> reference);
/// The two-sided 95 % quantile of Student's t; above 30 degrees of freedom that of the next lower row of the usual
/// table, which is the wider. Throws std::invalid_argument below 1.
double t_quantile(std::int64_t degrees_of_freedom);

/// How far an arm may lie from the reference and still be as good.
struct Margin {
    enum class Side : std::uint8_t {
        either,     // no further above or below
        not_below,  // of scores that should be high: better is as good
        not_above   // of scores that should be low
    };
    double size;      // as the score is measured; 0: none, the sign of the difference is judged
    std::string why;  // what the size stands for: "5 of 500 test images"
    Side side = Side::either;
};
/// Holds where the interval lies inside the margin; refuted where it lies outside, or the arm's score is not finite;
/// undecided where it straddles the margin, and then the text says how many seeds would probably decide. `arm` and
/// `reference` are the scores, a number a seed.
Check as_good(std::span<const double> arm, std::span<const double> reference, const Margin& margin,
              const Quantity& quantity);
/// The opposite, that one way to train is worse than another by more than the margin: holds where as_good is refuted
/// (the interval lies outside the margin, or the arm's score is not finite), is refuted where as_good holds (what fails
/// then is what was expected, not this program), and is undecided where as_good is. Fails where the reference is not
/// finite: nothing can then be told.
Check falls_short(std::span<const double> arm, std::span<const double> reference, const Margin& margin,
                  const Quantity& quantity);
/// The number of seeds at which an interval as wide a seed lies on one side of the margin's edges, inside or outside as
/// the mean does; 0 where the mean lies on an edge, up to rounding.
std::int64_t seeds_needed(const PairedDifference& difference, const Margin& margin);

}  // namespace ulp
