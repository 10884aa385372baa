// What a recording can decide: other hypotheses about a unit, one aspect each, and which of them it contradicts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "softfloat/matrix_units/units.hpp"

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

/// Ordinary values: other parameters. Zeros and the exponent floor: what the policy sets have, one by one and as a
/// whole set. Subnormals: the same, and flushed ones. Infinities: overflow to the largest finite number. NaN: another
/// one. Integers: other signs, sums beyond s32.
std::vector<Alternative> alternatives(const UnitModel& model);

/// What sets of dots tell about an alternative.
struct Verdict {
    Aspect aspect;
    std::string name;
    bool can_differ = true;  // from the model, on a dot of witness_dots(); one that cannot is the model by another name
    bool contradicted = false;  // it can differ, and differs from the hardware on one of the dots
    /// The dots leave open whether the hardware follows the alternative or the model.
    [[nodiscard]] bool is_open() const { return can_differ && !contradicted; }
};

/// What sets of dots tell about a model.
struct DecidedDots {
    std::int64_t differ = 0;  // dots on which the model differs from the hardware
    std::vector<Verdict> verdicts;
    /// An aspect is decided if the dots contradict at least one of its alternatives and leave none open; of ordinary
    /// values, whose alternatives are neighbouring parameters, others may stay open. None if the model differs on a
    /// dot.
    [[nodiscard]] AspectSet aspects() const;
};

/// Adds the verdicts of further dots: an alternative is contradicted if any of the sets contradicts it.
void decide(const UnitModel& model, std::span<const RecordedDot> dots, DecidedDots& decided);
DecidedDots decide(const UnitModel& model, std::span<const RecordedDot> dots);

}  // namespace ulp
