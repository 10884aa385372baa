// Bounds are computed in fp64 and rounded up at the end.
#pragma once

namespace ulp {

/// Not less than the exact value of an expression of nonnegative terms that fp64 evaluated with `operations` roundings.
constexpr double rounded_up(double value, double operations) { return value * (1 + (operations + 8) * 0x1p-52); }

}  // namespace ulp
