// The opposite of parity: that one way to train is worse than another, by more than a margin that is fixed beforehand.
#pragma once

#include <span>

#include "experiments/training/parity.hpp"

namespace ulp {

/// Holds where as_good is refuted (the 95 % interval of the paired differences lies outside the margin, or the arm's
/// score is not finite), is refuted where as_good holds (what fails then is what was expected, not this program), and
/// is undecided where as_good is.
Check falls_short(std::span<const double> arm, std::span<const double> reference, const Margin& margin,
                  const Quantity& quantity);

}  // namespace ulp
