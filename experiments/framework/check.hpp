// A check: what a number must be, what it is, and whether it is so. The words that are printed and the comparison are
// made from the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/framework/values.hpp"

namespace ulp {

/// How a quantity is told: "accuracy", "%", 100 (1 is shown as 100), 1 decimal.
struct Quantity {
    std::string name;
    std::string unit{};
    double factor = 1;
    int decimals = 3;

    [[nodiscard]] std::string text(double value) const;
};

enum class Outcome : std::uint8_t {
    holds,
    fails,
    refuted,   // of parity: the interval lies outside the margin; of what a source says of all cases: here it is not so
    undecided  // of parity: the interval straddles the margin
};

/// Which differences from a reference a margin forbids.
enum class MarginSide : std::uint8_t {
    either,     // no further above or below
    not_below,  // of scores that should be high: better is as good
    not_above   // of scores that should be low
};

/// What a claim of parity was judged by; numbers as the score is measured.
struct ParityInterval {
    double margin;     // the difference that still counts as as good
    double low, high;  // 95 % interval of the mean of the paired differences; infinite for one seed
    std::int64_t seeds;
    MarginSide side = MarginSide::either;
    bool worse = false;  // the claim is that the difference lies outside the margin
};

struct Check {
    std::string expected;
    std::string measured;
    Outcome outcome;
    std::optional<ParityInterval> parity{};
    bool universal = false;  // of all cases: one counter-example, in whichever run, refutes it

    /// The same, said of something: "at most 5 % at O3". Both texts get the words.
    [[nodiscard]] Check at(const std::string& place) const;
    /// The same with the reason for the limit: "below 93 % (5 points below fp32)". The expected text alone gets it.
    [[nodiscard]] Check because(const std::string& reason) const;
};

/// Texts, which hold the bits of what was computed.
Check equal(std::string expected, std::string measured);
/// An expected value (decimal, exact in the format) against a measured one, bit by bit.
template <FloatFormat F>
Check equal(double expected, Float<F> measured) {
    return equal(value_text(Float<F>(expected)), value_text(measured));
}
/// Whole numbers: "2049 steps".
Check equal(std::int64_t expected, std::int64_t measured, const std::string& unit = "");

/// These fail where the measured number is NaN. Where rounding to the quantity's decimals would hide which side of the
/// limit a number lies on, the texts get more of them.
Check at_most(double limit, double measured, const Quantity& quantity);
Check at_least(double limit, double measured, const Quantity& quantity);
Check below(double limit, double measured, const Quantity& quantity);
Check above(double limit, double measured, const Quantity& quantity);
Check between(double least, double most, double measured, const Quantity& quantity);
/// "1.77 +- 0.05": at most `tolerance` away.
Check near(double expected, double tolerance, double measured, const Quantity& quantity);
/// What has no number: "a finite number" against the value's text.
Check is(bool so, std::string expected, std::string measured);

/// What a source says of all cases: one number above the limit refutes it. NaN fails.
Check never_above(double limit, double measured, const Quantity& quantity);
/// The same without a number.
Check always(bool so, std::string expected, std::string measured);

/// The check where what it presupposes holds. Where it does not the check is undecided, and the measured text says what
/// is missing.
Check given(const Check& presupposed, Check check);

/// Both: refuted before failing before undecided.
Check operator&&(const Check& a, const Check& b);

}  // namespace ulp
