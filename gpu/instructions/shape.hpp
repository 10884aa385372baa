// The tile of a matrix instruction: D (m x n) = A (m x k) * B (k x n) + C (m x n).
#pragma once

#include <cstdint>

namespace ulp::gpu {

struct TileShape {
    int m;
    int n;
    int k;
    constexpr bool operator==(const TileShape&) const = default;
};

/// A row and a column of a matrix.
struct Place {
    int row;
    int column;
    constexpr bool operator==(const Place&) const = default;
};

}  // namespace ulp::gpu
