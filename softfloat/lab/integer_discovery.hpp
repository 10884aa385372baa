// Finding the parameters of an integer matrix unit by asking it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// Dot products whose results tell integer matrix units apart, as probes.hpp has them for floating-point ones.

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

// Whether an integer unit is the one that integer_discovery.hpp describes: asked on random dot products.

/// A dot product on which unit and model differ.
struct IntegerContradiction {
    std::vector<std::uint8_t> a, b;
    std::int32_t c = 0, unit = 0, model = 0;
};

struct IntegerCheck {
    std::int64_t blocks = 0;    // dot products, each asked twice
    std::int64_t differ = 0;    // from the model
    std::int64_t unstable = 0;  // with two different results
    std::optional<IntegerContradiction> first{};

    [[nodiscard]] bool agrees() const { return differ == 0 && unstable == 0; }
};

/// Operands are all bytes, the extreme ones most often; c lies near the ends of its range in half of the dot products.
IntegerCheck check_match(const IntegerUnit& unit, const IntegerModel& model, std::int64_t blocks, std::uint64_t seed);

}  // namespace ulp
