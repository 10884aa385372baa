// When one way to train is as good as another: the differences of runs with the same seed (same data, order and first
// weights) are judged by their interval against a margin that is fixed beforehand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/framework/result.hpp"
#include "experiments/framework/statistics.hpp"

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
/// pair.
struct PairedDifference {
    double mean, low, high;
    double deviation;  // sample standard deviation of a difference; NaN for one pair
    std::int64_t seeds;
};
/// arm[i] - reference[i]. Throws std::invalid_argument for none, or unequally many.
PairedDifference paired_difference(std::span<const double> arm, std::span<const double> reference);

/// How far an arm may lie from the reference and still be as good.
struct Margin {
    using Side = MarginSide;
    double size;      // as the score is measured; 0: none, the sign of the difference is judged
    std::string why;  // what the size stands for: "5 of 500 test images"
    Side side = Side::either;
};
/// Scores, a number a seed.
struct Scores : std::vector<double> {
    using std::vector<double>::vector;
    Scores(std::vector<double> values, std::int64_t of = 0)  // NOLINT(google-explicit-constructor): most have no `of`
        : std::vector<double>(std::move(values)), examples(of) {}
    std::int64_t examples = 0;  // where each is a share of one test set: of how many examples; 0: not known
};
/// Holds where the interval lies inside the margin; refuted where it lies outside, or the arm's score is not finite;
/// undecided where it straddles the margin.
///
/// Differences that are all equal do not make an interval of no width. Of shares of a test set (unit "%", factor 100)
/// whose examples are counted it reaches as far as a share of which none was seen among them may (Clopper and Pearson),
/// of other scores half a unit of the last digit that is shown. Against a margin of 0 what is equal is equal.
///
/// The text says where nothing could be better, the reference being above 99 % right ("at the ceiling"), and where the
/// arm is worse by a difference that lies inside the margin ("worse by at most").
Check as_good(const Scores& arm, const Scores& reference, const Margin& margin, const Quantity& quantity);
/// The opposite, that one way to train is worse than another by more than the margin: holds where as_good is refuted
/// (the interval lies outside the margin, or the arm's score is not finite), is refuted where as_good holds (what fails
/// then is what was expected, not this program), and is undecided where as_good is. Fails where the reference is not
/// finite: nothing can then be told.
Check falls_short(const Scores& arm, const Scores& reference, const Margin& margin, const Quantity& quantity);
/// The number of seeds at which an interval as wide a seed lies on one side of the margin's edges, inside or outside as
/// the mean does; 0 where the mean lies on an edge, up to rounding.
std::int64_t seeds_needed(const PairedDifference& difference, const Margin& margin);

}  // namespace ulp
