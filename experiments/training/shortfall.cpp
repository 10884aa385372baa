#include "experiments/training/shortfall.hpp"

#include <fmt/format.h>

#include <array>

namespace ulp {

Check falls_short(std::span<const double> arm, std::span<const double> reference, const Margin& margin,
                  const Quantity& quantity) {
    constexpr std::array words = {"away from", "below", "above"};  // in the order of Side
    Check check = as_good(arm, reference, margin, quantity);
    check.expected = fmt::format("more than {} {} the reference ({})", quantity.text(margin.size),
                                 words.at(static_cast<std::size_t>(margin.side)), margin.why);
    if (check.outcome != Outcome::undecided) {
        check.outcome = check.outcome == Outcome::refuted ? Outcome::holds : Outcome::refuted;
    }
    return check;
}

}  // namespace ulp
