#include "experiments/framework/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace ulp {
namespace {

Outcome outcome_of(bool holds) { return holds ? Outcome::holds : Outcome::fails; }

/// The quantity with as many decimals as tell the measured number apart from every limit that it is not.
Quantity telling_apart(Quantity quantity, double measured, std::initializer_list<double> limits) {
    const auto hidden = [&](double limit) {
        return limit != measured && quantity.text(limit) == quantity.text(measured);
    };
    while (quantity.decimals < std::numeric_limits<double>::max_digits10 && std::ranges::any_of(limits, hidden)) {
        ++quantity.decimals;
    }
    return quantity;
}

Check against(const char* words, double limit, double measured, bool holds, const Quantity& quantity) {
    const Quantity exact = telling_apart(quantity, measured, {limit});
    return {fmt::format("{} {}", words, exact.text(limit)), exact.text(measured), outcome_of(holds)};
}

}  // namespace

std::string Quantity::text(double value) const {
    if (std::isnan(value)) return "NaN";
    return fmt::format("{:.{}f}{}", factor * value, decimals, unit.empty() ? "" : " " + unit);
}

Check Check::at(const std::string& place) const {
    Check check = *this;
    check.expected += " " + place;
    check.measured += " " + place;
    return check;
}

Check Check::because(const std::string& reason) const {
    Check check = *this;
    check.expected += fmt::format(" ({})", reason);
    return check;
}

Check equal(std::string expected, std::string measured) {
    const Outcome outcome = outcome_of(expected == measured);
    return {std::move(expected), std::move(measured), outcome};
}

Check equal(std::int64_t expected, std::int64_t measured, const std::string& unit) {
    const std::string end = unit.empty() ? "" : " " + unit;
    return equal(fmt::format("{}{}", expected, end), fmt::format("{}{}", measured, end));
}

Check at_most(double limit, double measured, const Quantity& quantity) {
    return against("at most", limit, measured, measured <= limit, quantity);
}
Check at_least(double limit, double measured, const Quantity& quantity) {
    return against("at least", limit, measured, measured >= limit, quantity);
}
Check below(double limit, double measured, const Quantity& quantity) {
    return against("below", limit, measured, measured < limit, quantity);
}
Check above(double limit, double measured, const Quantity& quantity) {
    return against("above", limit, measured, measured > limit, quantity);
}

Check between(double least, double most, double measured, const Quantity& quantity) {
    const Quantity exact = telling_apart(quantity, measured, {least, most});
    return {fmt::format("{} to {}", exact.text(least), exact.text(most)), exact.text(measured),
            outcome_of(measured >= least && measured <= most)};
}

Check near(double expected, double tolerance, double measured, const Quantity& quantity) {
    const Quantity exact = telling_apart(quantity, measured, {expected - tolerance, expected + tolerance});
    return {fmt::format("{} +- {}", exact.text(expected), exact.text(tolerance)), exact.text(measured),
            outcome_of(measured >= expected - tolerance && measured <= expected + tolerance)};
}

Check is(bool so, std::string expected, std::string measured) {
    return {std::move(expected), std::move(measured), outcome_of(so)};
}

Check never_above(double limit, double measured, const Quantity& quantity) {
    Check check = at_most(limit, measured, quantity);
    check.universal = true;
    if (measured > limit) check.outcome = Outcome::refuted;
    return check;
}

Check always(bool so, std::string expected, std::string measured) {
    return {std::move(expected), std::move(measured), so ? Outcome::holds : Outcome::refuted, {}, true};
}

Check given(const Check& presupposed, Check check) {
    if (presupposed.outcome == Outcome::holds) return check;
    check.outcome = Outcome::undecided;
    check.measured +=
        fmt::format("; this tells nothing: {} presupposed, {} measured", presupposed.expected, presupposed.measured);
    return check;
}

Check operator&&(const Check& a, const Check& b) {
    const auto either = [&](Outcome outcome) { return a.outcome == outcome || b.outcome == outcome; };
    Outcome outcome = Outcome::holds;
    for (const Outcome worse : {Outcome::undecided, Outcome::fails, Outcome::refuted}) {
        if (either(worse)) outcome = worse;
    }
    return {a.expected + ", " + b.expected, a.measured + ", " + b.measured, outcome, a.parity ? a.parity : b.parity,
            a.universal || b.universal};
}

}  // namespace ulp
