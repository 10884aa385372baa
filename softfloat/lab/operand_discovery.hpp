// What a black box reads of its operands: the first question, since all others put numbers into them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "softfloat/lab/discovery.hpp"

namespace ulp {

/// What is read of one operand.
struct OperandReading {
    int fraction_bits = 0;               // of a number in [1, 2)
    std::optional<Rounding> rounding{};  // where these are fewer than the format's
    bool subnormals = true;              // used; else they count as zero

    constexpr bool operator==(const OperandReading&) const = default;
};

struct OperandDiscovery {
    OperandReading a, b;
    std::optional<int> piece_bits{};      // fraction bits of pieces, where products of the lower pieces are left out
    std::vector<std::string> evidence{};  // a sentence each
    std::int64_t checked = 0;             // random dot products asked again with operands cut beforehand
    std::int64_t differ = 0;              // of these

    /// Whether operands are cut or split: otherwise what the first questions miss is lost later, by an alignment or a
    /// rounding.
    [[nodiscard]] bool cuts() const { return (checked > 0 && differ == 0) || piece_bits.has_value(); }
};

/// Asks the unit, whose formats must allow masking (can_mask). Takes some hundred dot products.
OperandDiscovery discover_operands(const DotUnit& unit);

/// An operand as it is read, in its own format. Numbers beyond the range stay as they are.
std::uint64_t as_read(const FloatFormat& format, const OperandReading& reading, std::uint64_t code);

/// The unit with operands of the formats that it reads: tf32 where 10 fraction bits of fp32 are read.
DotUnit narrowed(const DotUnit& unit, const OperandDiscovery& found);

}  // namespace ulp
