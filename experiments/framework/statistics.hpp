// Intervals and corrections of judged claims. The numbers are rounded to fp32's precision: their last bits in fp64 are
// a library's own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/framework/check.hpp"

namespace ulp {

/// The two-sided 95 % quantile of Student's t, to the three decimals of the usual tables. Throws std::invalid_argument
/// below 1.
double t_quantile(std::int64_t degrees_of_freedom);

struct ShareInterval {
    double low, high;
};
/// The exact 95 % interval of a share of which `count` of `trials` were seen (Clopper and Pearson, 1934). One-sided at
/// 2.5 % each; throws std::invalid_argument for no trials, or more seen than tried.
ShareInterval exact_share(std::int64_t count, std::int64_t trials);

/// How probable a difference at least as convincing as this is where the claim is just not so: where the mean lies on
/// the margin's edge, or of two edges on the nearer. An interval that holds has at most 0.025. 1 for one seed, or an
/// interval of no width.
double p_value(const ParityInterval& parity);
/// Each p corrected for the others of its family: to be compared with the same level. Holm (1979): of all that hold
/// none is wrong. Benjamini and Hochberg (1995): of those that hold that share is wrong.
std::vector<double> holm(std::span<const double> p);
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace ulp
