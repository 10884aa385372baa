// One instruction's operands for any floating-point row of the table, and what the row makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp::test {

/// Storage words: `a` and `b` hold the instruction's k elements, the scales one for each block of them (none where the
/// row has no scales).
struct UnitBlock {
    std::vector<std::uint64_t> a, b, a_scales, b_scales;
    std::uint64_t c = 0;
};

/// The formats of a row, and the sizes of one instruction.
struct UnitFormats {
    FloatFormat a, b, c, scale;
    int k;
    int scales;
};
/// Of a floating-point row, block-scaled or not.
UnitFormats formats_of(const UnitModel& model);

/// `count` blocks of that class, the same everywhere. Scales lie near 1.
std::vector<UnitBlock> random_blocks(const UnitFormats& formats, DataClass data, int count, std::uint64_t seed);

/// The instruction's result, a storage word of the accumulator.
std::uint64_t result_of(const UnitModel& model, const UnitBlock& block);

}  // namespace ulp::test
