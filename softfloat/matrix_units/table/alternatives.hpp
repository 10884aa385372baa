// What a recording can decide: other hypotheses about a unit, one aspect each, and which of them it contradicts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "softfloat/matrix_units/table/units.hpp"

namespace ulp {

/// One dot product of an instruction, or a chain of them: storage words, and in d what the hardware gave.
struct RecordedDot {
    std::vector<std::uint64_t> a, b;
    std::uint64_t c = 0;
    std::uint64_t d = 0;
};

/// A way to compute d from the rest.
using DotHypothesis = std::function<std::uint64_t(const RecordedDot&)>;

/// The model itself as a hypothesis. For floating-point and integer models.
DotHypothesis hypothesis_of(const UnitModel& model);

/// A hypothesis that differs from a model in one aspect alone.
struct Alternative {
    Aspect aspect;
    std::string name;  // "zero product as in set A", "F + 1"
    DotHypothesis dot;
};

/// Ordinary values: other parameters. Zeros, the exponent floor and subnormal c: what the policy sets have. Subnormals:
/// flushed. Infinities: overflow to the largest finite number. NaN: another one. Integers: other signs, sums beyond
/// s32.
std::vector<Alternative> alternatives(const UnitModel& model);

/// What a set of dots tells about a model.
struct DecidedDots {
    std::int64_t differ = 0;  // dots on which the model differs from the hardware
    AspectSet aspects;        // with an alternative that differs from the hardware on a dot; empty if the model does
};
DecidedDots decide(const UnitModel& model, std::span<const RecordedDot> dots);

}  // namespace ulp
