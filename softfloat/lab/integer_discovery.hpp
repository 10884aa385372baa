// Finding the parameters of an integer matrix unit by asking it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "softfloat/matrix_units/units.hpp"

namespace ulp {

/// A black box: operands in the low bits of a byte each, c and the answer int32.
struct IntegerUnit {
    int k = 0;
    std::function<std::int32_t(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::int32_t c)> dot;
};

/// The unit that computes one instruction of a model.
IntegerUnit unit_of(const IntegerModel& model);

/// The same unit on storage words, as DotUnit has them: two's complement, c and the answer of 32 bits.
std::function<std::uint64_t(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c)>
words_of(const IntegerUnit& unit);

struct IntegerDiscovery {
    IntegerModel model;                 // what was found; instruction_k is the unit's
    bool clamps_once = false;           // of a saturating unit: all products and c are added before the clamp
    std::vector<std::string> evidence;  // a sentence each
};

/// Asks the unit a dozen dot products. The order of the products cannot be asked: sums of integers do not show it.
/// Throws std::invalid_argument unless 1 <= k <= 256.
IntegerDiscovery discover(const IntegerUnit& unit);

/// Rows of the table with exactly these findings.
std::vector<const UnitRow*> matching_rows(const IntegerDiscovery& found);

}  // namespace ulp
