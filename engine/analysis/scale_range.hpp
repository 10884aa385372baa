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

/// Nonzero finite numbers that become zero in the format once they are multiplied by 2^n (to nearest, ties to even).
std::int64_t lost_under_scale(const Binades& binades, const FloatFormat& format, int n);
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
