#include "experiments/training/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// How far the difference may go down and up.
std::pair<double, double> limits_of(const Margin& margin) {
    return {margin.side == Margin::Side::not_above ? -infinity : -margin.size,
            margin.side == Margin::Side::not_below ? infinity : margin.size};
}

Outcome judge(const PairedDifference& difference, const Margin& margin) {
    const auto [down, up] = limits_of(margin);
    if (difference.low >= down && difference.high <= up) return Outcome::holds;
    const bool apart = difference.high < down || difference.low > up;
    return apart || !std::isfinite(difference.mean) ? Outcome::refuted : Outcome::undecided;
}

/// What as_good expects, or its opposite. Without a margin the number is left out.
std::string expected_text(const Margin& margin, const Quantity& quantity, bool apart) {
    constexpr std::array words = {"from", "below", "above"};  // in the order of Side
    const bool either = margin.side == Margin::Side::either;
    const std::string side = apart && either ? "away from" : words.at(static_cast<std::size_t>(margin.side));
    std::string bound = apart ? "" : "not ";
    if (margin.size > 0) bound = fmt::format("{} {} ", apart ? "more than" : "at most", quantity.text(margin.size));
    return fmt::format("{}{} the reference ({})", bound, side, margin.why);
}

std::string interval_text(const PairedDifference& difference, const Quantity& quantity) {
    if (!std::isfinite(difference.mean)) return "not finite";
    Quantity finer = quantity;
    ++finer.decimals;
    if (difference.seeds == 1) return fmt::format("difference {}, of one seed", finer.text(difference.mean));
    return fmt::format("difference {}, 95 % interval {} to {}, of {} pairs", finer.text(difference.mean),
                       finer.text(difference.low), finer.text(difference.high), difference.seeds);
}

/// How many seeds would probably decide, and how. `outside` is what a difference outside the margin does to the claim.
std::string advice(const PairedDifference& difference, const Margin& margin, const std::string& outside) {
    if (difference.seeds == 1) return "; at least 2 seeds would tell";
    const std::int64_t seeds = seeds_needed(difference, margin);
    if (seeds == 0) return "; the mean lies on the margin: no number of seeds would tell";
    const auto [down, up] = limits_of(margin);
    if (down <= difference.mean && difference.mean <= up) return fmt::format("; about {} seeds would decide", seeds);
    return fmt::format("; the mean lies outside the margin: about {} seeds would {}", seeds, outside);
}

Check compared(std::span<const double> arm, std::span<const double> reference, const Margin& margin,
               const Quantity& quantity, const std::string& outside) {
    const PairedDifference difference = paired_difference(arm, reference);
    const Outcome outcome = judge(difference, margin);
    std::string measured = fmt::format("{}, the reference {}: {}", quantity.text(mean_of(arm)),
                                       quantity.text(mean_of(reference)), interval_text(difference, quantity));
    if (outcome == Outcome::undecided) measured += advice(difference, margin, outside);
    return {expected_text(margin, quantity, false), std::move(measured), outcome,
            ParityInterval{margin.size, difference.low, difference.high, difference.seeds}};
}

}  // namespace

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Spread spread_of(std::vector<double> values) {
    if (values.empty()) throw std::invalid_argument("no values have no spread");
    const double mean = mean_of(values);
    std::ranges::sort(values, [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
    const double least = std::isnan(values.back()) ? values.back() : values.front();
    return {least, values[(values.size() - 1) / 2], values.back(), mean};
}

double t_quantile(std::int64_t degrees_of_freedom) {
    // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975.
    constexpr std::array upto30 = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                   2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (degrees_of_freedom < 1) throw std::invalid_argument("Student's t needs a degree of freedom");
    const auto row = static_cast<std::size_t>(degrees_of_freedom - 1);
    if (row < upto30.size()) return upto30[row];
    if (degrees_of_freedom < 40) return upto30.back();
    return degrees_of_freedom < 60 ? 2.021 : degrees_of_freedom < 100 ? 2.000 : 1.984;
}

PairedDifference paired_difference(std::span<const double> arm, std::span<const double> reference) {
    if (arm.empty() || arm.size() != reference.size()) {
        throw std::invalid_argument(fmt::format("{} and {} scores are no pairs", arm.size(), reference.size()));
    }
    const auto count = static_cast<double>(arm.size());
    std::vector<double> differences;
    for (std::size_t i = 0; i < arm.size(); ++i) differences.push_back(arm[i] - reference[i]);
    const double mean = mean_of(differences);
    if (arm.size() == 1) return {mean, -infinity, infinity, std::numeric_limits<double>::quiet_NaN(), 1};
    double squares = 0;
    for (const double difference : differences) squares += (difference - mean) * (difference - mean);
    const double deviation = std::sqrt(squares / (count - 1));
    const auto seeds = static_cast<std::int64_t>(arm.size());
    const double reach = t_quantile(seeds - 1) * deviation / std::sqrt(count);
    return {mean, mean - reach, mean + reach, deviation, seeds};
}

std::int64_t seeds_needed(const PairedDifference& difference, const Margin& margin) {
    const auto [down, up] = limits_of(margin);
    // Inside the margin the nearer edge is to stay outside the interval; outside, the edge that was passed.
    const double room = std::fabs(std::min(difference.mean - down, up - difference.mean));
    if (!(room > 0)) return 0;
    if (!(difference.deviation > 0)) return 2;
    // Above 100 degrees of freedom t is constant and least: with fewer seeds than this the interval is too wide.
    const double root = t_quantile(1000) * difference.deviation / room;
    if (root > 1e6) return 0;  // up to rounding the mean lies on the margin
    auto seeds = std::max<std::int64_t>(2, static_cast<std::int64_t>(root * root) - 1);
    while (t_quantile(seeds - 1) * difference.deviation / std::sqrt(static_cast<double>(seeds)) > room) ++seeds;
    return seeds;
}

Check as_good(std::span<const double> arm, std::span<const double> reference, const Margin& margin,
              const Quantity& quantity) {
    return compared(arm, reference, margin, quantity, "refute it");
}

Check falls_short(std::span<const double> arm, std::span<const double> reference, const Margin& margin,
                  const Quantity& quantity) {
    Check check = compared(arm, reference, margin, quantity, "show it");
    check.expected = expected_text(margin, quantity, true);
    if (!std::isfinite(mean_of(reference))) {
        check.outcome = Outcome::fails;
    } else if (check.outcome != Outcome::undecided) {
        check.outcome = check.outcome == Outcome::refuted ? Outcome::holds : Outcome::refuted;
    }
    return check;
}

}  // namespace ulp
