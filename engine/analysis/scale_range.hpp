// Which loss scales 2^n keep gradients in a format: from counts of exponents alone, and exactly, since a power of two
// moves every binade by n places.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/tensor_counts.hpp"
#include "softfloat/format.hpp"

namespace ulp {

struct NamedCounts {
    std::string name;
    TensorCounts counts;
};

/// e where numbers of both signs up to 2^e become zero in the format (to nearest, ties to even), and larger ones do
/// not: half of the smallest number. Nothing where there is none.
std::optional<int> zero_up_to(const FloatFormat& format);
/// How many nonzero finite numbers are at most 2^tie; scaled by 2^n those become zero that are at most 2^(zero - n).
std::int64_t lost_up_to(const Binades& binades, int tie);
/// Whether a finite number of this magnitude overflows in the format once it is multiplied by 2^n.
bool overflows_under_scale(double absmax, const FloatFormat& format, int n);

/// The largest n with which it does not; absmax > 0.
int largest_scale(double absmax, const FloatFormat& format);

/// Exponents of loss scales; nothing where every number is zero.
struct ScaleRange {
    std::optional<int> smallest;               // at most 0.1 % of all nonzero numbers become zero
    std::optional<int> largest;                // none overflows
    std::optional<int> recommended;            // nothing where smallest > largest
    std::vector<std::string> limits_smallest;  // tensors that lose numbers at the next smaller scale; most first
    std::vector<std::string> limits_largest;   // tensors that overflow at the next larger scale
};
ScaleRange scale_range(const std::vector<NamedCounts>& tensors, const FloatFormat& format);

/// recommended = largest - this, but at least smallest: room for gradients that grow in later steps.
inline constexpr int scale_headroom = 2;

}  // namespace ulp
