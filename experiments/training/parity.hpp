// When one way to train is as good as another: what differs by rounding is judged beside what differs by chance.
#pragma once

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
double mean_of(const std::vector<double>& values);

/// A rule by which an arm is as good as the reference. Both rules are in use: which one a claim rests on belongs to the
/// claim, and another rule could change its verdict.
struct Parity {
    enum class Rule : std::uint8_t {
        mean_within_spread,  // the means differ, either way, by at most the reference's own width or the margin
        median_not_below     // the median lies at most the margin below the reference's least; better is as good
    } rule;
    double margin;  // as the score is measured
};
bool as_good(const Spread& arm, const Spread& reference, const Parity& parity);

/// How a score is told: "accuracy", "%", 100 (1 is shown as 100), 1 decimal.
struct ScoreText {
    std::string name;
    std::string unit;
    double factor = 1;
    int decimals = 3;
    [[nodiscard]] std::string text(double value) const;
};
/// "93.1 % (92.0 to 94.5)" of accuracies.
std::string percent_text(const Spread& spread);

/// The claim that an accuracy is as good as the reference's: its median at most `margin` below the reference's least.
void claim_not_below(Result& result, const Spread& arm, const Spread& reference, double margin, std::string_view id,
                     std::string_view source, std::string_view statement);

}  // namespace ulp
