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

/// Half the width that an interval has at least.
double least_reach(const Scores& reference, const Quantity& quantity) {
    const bool is_share = quantity.unit == "%" && quantity.factor == 100;
    if (is_share && reference.examples > 0) return exact_share(0, reference.examples).high;
    return 0.5 * std::pow(10.0, -quantity.decimals - 1) / quantity.factor;
}

/// What a reader should know beside the interval.
std::string remark(const PairedDifference& difference, double reference, const Margin& margin, const Quantity& quantity,
                   Outcome outcome) {
    if (outcome == Outcome::undecided) {
        if (difference.seeds == 1) return "; at least 2 seeds would tell";
        const auto [down, up] = limits_of(margin);
        const bool inside = down <= difference.mean && difference.mean <= up;
        return inside ? "; the interval straddles the margin" : "; the mean lies outside the margin";
    }
    if (outcome != Outcome::holds) return "";
    std::string text;
    Quantity finer = quantity;
    ++finer.decimals;
    if (difference.high < 0 && margin.side != Margin::Side::not_above) {
        text = "; worse by at most " + finer.text(-difference.low);
    } else if (difference.low > 0 && margin.side != Margin::Side::not_below) {
        text = "; worse by at most " + finer.text(difference.high);
    }
    const bool right = quantity.unit == "%" && quantity.factor == 100 && margin.side != Margin::Side::not_above;
    return text + (right && reference > 0.99 ? "; at the ceiling" : "");
}

/// What as_good says, or where `worse` what its opposite does.
Check compared(const Scores& arm, const Scores& reference, const Margin& margin, const Quantity& quantity, bool worse) {
    PairedDifference difference = paired_difference(arm, reference);
    Outcome outcome = judge(difference, margin);
    if (difference.high - difference.low < 1e-12) {
        const double reach = least_reach(reference, quantity);
        difference.low -= reach;
        difference.high += reach;
        if (margin.size > 0) outcome = judge(difference, margin);
    }
    std::string measured = fmt::format("{}, the reference {}: {}", quantity.text(mean_of(arm)),
                                       quantity.text(mean_of(reference)), interval_text(difference, quantity));
    if (!worse || outcome == Outcome::undecided) {
        measured += remark(difference, mean_of(reference), margin, quantity, outcome);
    }
    return {expected_text(margin, quantity, worse), std::move(measured), outcome,
            ParityInterval{margin.size, difference.low, difference.high, difference.seeds, margin.side, worse}};
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
    // Where t is least: with fewer seeds than this the interval is too wide.
    const double root = t_quantile(1'000'000) * difference.deviation / room;
    if (root > 1e6) return 0;  // up to rounding the mean lies on the margin
    auto seeds = std::max<std::int64_t>(2, static_cast<std::int64_t>(root * root) - 1);
    while (t_quantile(seeds - 1) * difference.deviation / std::sqrt(static_cast<double>(seeds)) > room) ++seeds;
    return seeds;
}

Check as_good(const Scores& arm, const Scores& reference, const Margin& margin, const Quantity& quantity) {
    return compared(arm, reference, margin, quantity, false);
}

Check falls_short(const Scores& arm, const Scores& reference, const Margin& margin, const Quantity& quantity) {
    Check check = compared(arm, reference, margin, quantity, true);
    if (!std::isfinite(mean_of(reference))) {
        check.outcome = Outcome::fails;
    } else if (check.outcome != Outcome::undecided) {
        check.outcome = check.outcome == Outcome::refuted ? Outcome::holds : Outcome::refuted;
    }
    return check;
}

}  // namespace ulp
