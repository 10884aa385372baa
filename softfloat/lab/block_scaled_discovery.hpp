// Finding the parameters of a block-scaled matrix unit by asking it: what its scales mean, which elements they cover,
// and, with all scales one, everything that discovery.hpp finds of an unscaled unit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "softfloat/lab/discovery.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"

namespace ulp {

/// A black box: k products of storage words, and c. Of each operand it takes as many scales, a byte each, as it has;
/// room is given for k.
struct ScaledUnit {
    using Codes = std::span<const std::uint64_t>;
    FloatFormat a_format, b_format, accumulator;
    int k = 0;
    std::function<std::uint64_t(Codes a, Codes b, Codes a_scales, Codes b_scales, std::uint64_t c)> dot;
};

/// The unit that computes one instruction of a model.
ScaledUnit unit_of(const BlockScaledModel& model);

struct ScaledDiscovery {
    Discovery products;                          // with all scales one
    std::optional<FloatFormat> scale_format;     // that of the table whose magnitudes the 256 codes of a scale have
    double least_scale = 0, greatest_scale = 0;  // above zero
    bool signed_scales = false;                  // a scale's sign counts
    int scale_block = 0;                         // elements that share a scale; 0: no blocks of one size in ascending k
    bool scales_before_alignment = false;        // they move the exponents with which terms are aligned
    std::optional<bool> normalises_scales;       // before that: nothing where all scales are powers of two
    std::vector<std::string> evidence;           // a sentence each, about the scales
};

/// Asks the unit; takes a few k^2 dot products.
ScaledDiscovery discover(const ScaledUnit& unit);

/// Whether the findings are those that discover() must make of the model.
bool agrees(const ScaledDiscovery& found, const BlockScaledModel& model);

/// Rows of the table with exactly these findings and formats.
std::vector<const UnitRow*> matching_rows(const ScaledUnit& unit, const ScaledDiscovery& found);

}  // namespace ulp
