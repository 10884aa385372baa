#include "experiments/training/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace ulp {

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Spread spread_of(std::vector<double> values) {
    if (values.empty()) throw std::invalid_argument("no values have no spread");
    const double mean = mean_of(values);
    std::ranges::sort(values, [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
    return {values.front(), values[(values.size() - 1) / 2], values.back(), mean};
}

bool as_good(const Spread& arm, const Spread& reference, const Parity& parity) {
    if (parity.rule == Parity::Rule::median_not_below) return arm.middle >= reference.least - parity.margin;
    return std::fabs(arm.mean - reference.mean) <= std::max(reference.width(), parity.margin);
}

std::string ScoreText::text(double value) const {
    if (std::isnan(value)) return "NaN";
    return fmt::format("{:.{}f}{}", factor * value, decimals, unit.empty() ? "" : " " + unit);
}

std::string percent_text(const Spread& spread) {
    return fmt::format("{:.1f} % ({:.1f} to {:.1f})", 100 * spread.middle, 100 * spread.least, 100 * spread.largest);
}

void claim_not_below(Result& result, const Spread& arm, const Spread& reference, double margin, std::string_view id,
                     std::string_view source, std::string_view statement) {
    result.claim_if(as_good(arm, reference, {Parity::Rule::median_not_below, margin}), id, source, statement,
                    fmt::format("at most {:.0f} points below {}", 100 * margin, percent_text(reference)),
                    percent_text(arm));
}

}  // namespace ulp
