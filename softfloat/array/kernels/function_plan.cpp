#include "softfloat/array/kernels/function_plan.hpp"

#include <bit>
#include <limits>

namespace ulp::array {
namespace {

/// The word of the double (2 - 2^-fraction_bits) * 2^exponent or, without fraction bits, of 2^exponent.
std::uint64_t double_word(int exponent, int fraction_bits) {
    const std::uint64_t ones = (std::uint64_t{1} << fraction_bits) - 1;
    return static_cast<std::uint64_t>(exponent + 1023) << 52 | ones << (52 - fraction_bits);
}

}  // namespace

std::optional<FunctionPlan> function_plan(const FloatFormat& format, Rounding rounding) {
    const int fraction_bits = format.fraction_bits;
    if (fraction_bits > 23 || format != ieee_format(8, fraction_bits, 23 - fraction_bits)) return std::nullopt;
    const std::uint64_t last = std::uint64_t{1} << (52 - fraction_bits);
    FunctionPlan plan{};
    plan.dropped = last - 1;
    const bool nearest = rounding == Rounding::nearest_even || rounding == Rounding::nearest_away;
    if (nearest) plan.push_positive = last / 2;  // never a tie: those are undecided
    if (rounding == Rounding::up) plan.push_positive = plan.dropped;
    if (rounding == Rounding::up || rounding == Rounding::down) plan.push_changes = plan.dropped;
    if (rounding == Rounding::odd) plan.odd = last;
    plan.from_boundary = (nearest ? last / 2 : 0) + quick_margin;
    plan.smallest = double_word(format.emin(), 0);
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    plan.to_order = sign - (plan.smallest + 1);
    plan.end_of_order = static_cast<std::int64_t>(double_word(format.emax(), fraction_bits) + plan.to_order + 1);
    if (rounding == Rounding::nearest_even) {
        plan.to_subnormal_grid = std::bit_cast<double>(double_word(52 + format.smallest_exponent(), 0)) * 1.5;
    }
    plan.low.at = -std::numeric_limits<double>::infinity();
    plan.high.at = std::numeric_limits<double>::infinity();
    plan.beside = std::numeric_limits<double>::infinity();
    plan.random_shift = static_cast<std::uint64_t>(23 - fraction_bits);
    return plan;
}

}  // namespace ulp::array
