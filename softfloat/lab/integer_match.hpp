// Whether an integer unit is the one that integer_discovery.hpp describes: asked on random dot products.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "softfloat/lab/integer_discovery.hpp"

namespace ulp {

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
