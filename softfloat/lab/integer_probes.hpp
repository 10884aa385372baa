// Dot products whose results tell integer matrix units apart, as probes.hpp has them for floating-point ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "softfloat/lab/integer_discovery.hpp"

namespace ulp {

/// One way in which a unit may work. An instruction of one product clamps after each.
struct IntegerHypothesis {
    std::string_view name;
    IntegerModel model;
};

/// Lanes that are not listed are zeros.
struct IntegerProbe {
    std::string_view id;
    std::string_view question;    // what its answer tells
    std::vector<std::uint8_t> a;  // the first operands' bytes
    std::vector<std::uint8_t> b;
    std::int32_t c;
    std::vector<IntegerHypothesis> hypotheses;
};

std::span<const IntegerProbe> integer_probes();

/// What the unit answers; it has as many products as the probe has lanes, or more.
std::int32_t answer_of(const IntegerUnit& unit, const IntegerProbe& probe);

/// The hypothesis' answer.
std::int32_t predicted(const IntegerProbe& probe, const IntegerHypothesis& hypothesis);

}  // namespace ulp
